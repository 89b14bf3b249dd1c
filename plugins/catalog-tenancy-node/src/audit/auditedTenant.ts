import type { AuditorService } from '@backstage/backend-plugin-api';
import { commonToCopies } from '../tenants/commonToCopies';
import type { ActiveTenant } from '../tenants/TenantDirectory';

const tenants = commonToCopies(
  'audited-tenants',
  () => new WeakMap<object, ActiveTenant>(),
);

/**
 * Names the tenant of an audit event that belongs to no request.
 *
 * @returns the same object, to pass to the auditor
 * @public
 */
export function auditFor(
  tenant: ActiveTenant,
  options: Parameters<AuditorService['createEvent']>[0],
): Parameters<AuditorService['createEvent']>[0] {
  tenants.set(options, tenant);
  return options;
}

/**
 * The tenant that {@link auditFor} set for an event.
 *
 * @public
 */
export function auditedTenantOf(
  options: Parameters<AuditorService['createEvent']>[0],
): ActiveTenant | undefined {
  return tenants.get(options);
}
