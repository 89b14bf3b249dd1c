import { checkCounts } from '../../phases/phase2_backfill/checkCounts';
import { complaintOf } from './complaintOf';
import type { Check } from '../Check';

/** As many rows as rows with a tenant (specification, phase 2). */
export const rows: Check = {
  name: 'every row has a tenant',
  from: 2,
  examine: context => complaintOf(() => checkCounts(context)),
};
