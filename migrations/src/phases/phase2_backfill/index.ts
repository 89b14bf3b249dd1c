import type { Phase } from '../../engine/Step';
import { refuseShape } from '../../checks/examineShape';
import { defaultTenant } from './10_default_tenant';
import { backfill } from './20_backfill';
import { notNull } from './30_not_null';
import { foreignKeys } from './40_foreign_keys';

export const phase2: Phase = {
  number: 2,
  title: 'Backfill',
  checkTables: context => refuseShape(context, 'Phase 2 cannot begin'),
  steps: [defaultTenant, backfill, notNull, foreignKeys],
};
