import type { AuditorService } from '@backstage/backend-plugin-api';
import type { ActiveTenant } from '../tenants/TenantDirectory';

// A global symbol: the plugin that records events may have its own copy of this package.
const TENANTS = Symbol.for(
  'backstage-plugin-catalog-tenancy-node.audited-tenants',
);
const shared = globalThis as { [TENANTS]?: WeakMap<object, ActiveTenant> };
const tenants = (shared[TENANTS] ??= new WeakMap());

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
