import type { HttpRouterService } from '@backstage/backend-plugin-api';
import type { Request } from 'express';
import { DEFAULT_TENANT_ID, DEFAULT_TENANT_SLUG } from './Tenant';
import type { ActiveTenant } from './TenantDirectory';

/**
 * What stands in front of all routes of a plugin, and decides to which tenant a
 * request belongs and whether its caller may enter that tenant.
 *
 * @public
 */
export interface TenantGate {
  /**
   * Declares that every route of this plugin reads the tenant of its request with
   * {@link tenantOf}, and shows and changes nothing of another.
   *
   * A plugin calls it once, in its `init` and before it adds routes. From then on
   * requests of all tenants reach the plugin. Without this call only those of the
   * default tenant do, unless the operator lists the plugin in
   * `tenancy.plugins.shared`.
   */
  declareTenantAware(): void;
}

const DEFAULT_TENANT: ActiveTenant = {
  tenantId: DEFAULT_TENANT_ID,
  tenantSlug: DEFAULT_TENANT_SLUG,
};

// Not a property of the request, which any middleware could set. In the registry of
// symbols, because the gate and a plugin may each bring a copy of this package.
const TENANTS = Symbol.for('backstage-plugin-catalog-tenancy-node.tenants');
const shared = globalThis as {
  [TENANTS]?: WeakMap<object, ActiveTenant>;
};
const tenants = (shared[TENANTS] ??= new WeakMap());

/**
 * The tenant that a request belongs to; without the flag, the default tenant.
 *
 * It is for the routes of plugins that have called
 * {@link TenantGate.declareTenantAware}. The caller of the request may enter this
 * tenant: the gate has refused all others.
 *
 * @throws Error for a request that has passed no gate: then the plugin has not
 * declared itself, or the backend lacks the module that puts gates in front of plugins
 * @public
 */
export function tenantOf(request: Request): ActiveTenant {
  const tenant = tenants.get(request);
  if (!tenant) {
    throw new Error(
      'The request has passed no gate that decides on its tenant. Expected that the plugin has called declareTenantAware() of tenantGateServiceRef before it added this route, and that the backend has backstage-plugin-catalog-backend-module-tenancy',
    );
  }
  return tenant;
}

/**
 * Gives a request its tenant, which {@link tenantOf} returns from then on. It is for
 * gates, and for tests of routes.
 *
 * @public
 */
export function assignTenant(request: Request, tenant: ActiveTenant): void {
  const { tenantId, tenantSlug } = tenant;
  tenants.set(request, Object.freeze({ tenantId, tenantSlug }));
}

/**
 * The gate while the flag is off: every request belongs to the default tenant, and a
 * plugin that is not tenant-aware does not notice the gate.
 *
 * @public
 */
export class OpenTenantGate implements TenantGate {
  readonly #httpRouter: HttpRouterService;

  constructor(httpRouter: HttpRouterService) {
    this.#httpRouter = httpRouter;
  }

  /** Has {@link tenantOf} return the default tenant for each request. */
  declareTenantAware(): void {
    this.#httpRouter.use((req, _res, next) => {
      assignTenant(req, DEFAULT_TENANT);
      next();
    });
  }
}
