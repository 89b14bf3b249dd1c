import type { Phase } from '../../engine/Step';
import { checkRoleAccess } from '../../schema/roleAccess';
import { refuseObstacles } from '../obstacles';
import { privileges } from './10_privileges';
import { views } from './20_views';
import { owners } from './30_owners';
import { policies } from './40_policies';
import { verification } from './50_verification';
import { checkSessions } from './checks';

export const phase4: Phase = {
  number: 4,
  title: 'Enable row-level security',
  async check(context) {
    await checkRoleAccess(context);
    await refuseObstacles(context, 4);
    await checkSessions(context);
  },
  steps: [privileges, views, owners, policies, verification],
};
