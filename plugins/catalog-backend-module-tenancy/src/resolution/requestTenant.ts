import {
  type ActiveTenant,
  DEFAULT_TENANT_ID,
  DEFAULT_TENANT_SLUG,
} from 'backstage-plugin-catalog-tenancy-node';
import type { Request } from 'express';

/** What every request gets while there is no tenancy. */
export const DEFAULT_TENANT: ActiveTenant = {
  tenantId: DEFAULT_TENANT_ID,
  tenantSlug: DEFAULT_TENANT_SLUG,
};

// Out of reach of whatever else a request passes through, where a property of the
// request could be set by any middleware.
const tenants = new WeakMap<Request, ActiveTenant>();

/**
 * The tenant that a request belongs to.
 *
 * @throws Error for a request that has not come through the middleware of
 * {@link createTenantMiddleware}
 */
export function requestTenant(req: Request): ActiveTenant {
  const tenant = tenants.get(req);
  if (!tenant) {
    throw new Error(
      'The request was not resolved to a tenant, expected the tenant middleware before this handler',
    );
  }
  return tenant;
}

/** Gives a request its tenant. */
export function setRequestTenant(req: Request, tenant: ActiveTenant): void {
  const { tenantId, tenantSlug } = tenant;
  tenants.set(req, Object.freeze({ tenantId, tenantSlug }));
}
