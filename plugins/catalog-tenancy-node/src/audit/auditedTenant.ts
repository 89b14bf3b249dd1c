import type { AuditorService } from '@backstage/backend-plugin-api';
import type { ActiveTenant } from '../tenants/TenantDirectory';

// In the registry of symbols, because whatever records events may bring a copy of this package.
const TENANTS = Symbol.for(
  'backstage-plugin-catalog-tenancy-node.audited-tenants',
);
const shared = globalThis as { [TENANTS]?: WeakMap<object, ActiveTenant> };
const tenants = (shared[TENANTS] ??= new WeakMap());

/**
 * Says of which tenant an audit event is that has no request.
 *
 * @returns the options of the event, to be handed on as they are
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
 * The tenant that {@link auditFor} has named for an event.
 *
 * @public
 */
export function auditedTenantOf(
  options: Parameters<AuditorService['createEvent']>[0],
): ActiveTenant | undefined {
  return tenants.get(options);
}
