import type { Phase } from '../../engine/Step';
import { refuseObstacles } from '../obstacles';
import { defaultTenant } from './10_default_tenant';
import { backfill } from './20_backfill';
import { notNull } from './30_not_null';
import { foreignKeys } from './40_foreign_keys';

export const phase2: Phase = {
  number: 2,
  title: 'Backfill',
  check: context => refuseObstacles(context, 2),
  steps: [defaultTenant, backfill, notNull, foreignKeys],
};
