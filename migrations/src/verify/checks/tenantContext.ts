import { findMissingRights } from '../../isolation/examineIsolation';
import { verification } from '../../phases/phase4_row_level_security/50_verification';
import { APP_ROLE } from '../../roles';
import { complaintOf } from './complaintOf';
import type { Check } from '../Check';

/** Specification, Tenant context for data access, 5. */
export const tenantContext: Check = {
  name: 'the application sees the rows of the tenant that is set, and none without',
  from: 4,
  async examine(context) {
    const { executor, settings } = context;
    const missing = await findMissingRights({
      read: (sql, values) => executor.read(sql, values),
      schema: settings.schema,
      user: APP_ROLE,
    });
    // The isolation check reports them with the GRANT; a count without them fails.
    return missing.length > 0
      ? []
      : complaintOf(() => verification.up(context));
  },
};
