import { verification } from '../../phases/phase4_row_level_security/50_verification';
import { complaintOf } from './complaintOf';
import type { Check } from '../Check';

/** Specification, Tenant context for data access, 5. */
export const tenantContext: Check = {
  name: 'the application sees the rows of the tenant that is set, and none without',
  from: 4,
  examine: context => complaintOf(() => verification.up(context)),
};
