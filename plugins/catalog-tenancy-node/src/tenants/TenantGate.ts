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

/**
 * What of a request names its tenant:
 *
 * - `call`: another plugin handles a request of that tenant, and makes this one for it
 * - `hostname`: the host that the request was sent to
 * - `token`: the token of a tenant
 * - `header`: `X-Tenant-Slug`
 * - `origin`: the page at a tenant's hostname that sends the request to another host
 * - `default`: nothing does
 *
 * @public
 */
export type TenantSource =
  | 'call'
  | 'hostname'
  | 'token'
  | 'header'
  | 'origin'
  | 'default';

/**
 * The gates of all plugins of this backend.
 *
 * @public
 */
export interface TenantGates {
  /** Adds the gate of a plugin. `isClosed` is asked each time: the plugin declares itself later. */
  add(pluginId: string, isClosed: () => boolean): void;

  /**
   * The plugins of this process that answer tenants other than the default one with 403, by
   * id and in order. A plugin that runs in another process is not among them.
   */
  closedPlugins(): string[];
}

/** What the gates of a backend add themselves to. */
export function createTenantGates(): TenantGates {
  const gates = new Map<string, () => boolean>();
  return {
    add: (pluginId, isClosed) => gates.set(pluginId, isClosed),
    closedPlugins: () =>
      [...gates.keys()].filter(id => gates.get(id)?.()).sort(),
  };
}

const DEFAULT_TENANT: ActiveTenant = {
  tenantId: DEFAULT_TENANT_ID,
  tenantSlug: DEFAULT_TENANT_SLUG,
};

// Not a property of the request, which any middleware could set. In the registry of
// symbols, because the gate and a plugin may each bring a copy of this package.
const TENANTS = Symbol.for('backstage-plugin-catalog-tenancy-node.tenants');
const SOURCES = Symbol.for(
  'backstage-plugin-catalog-tenancy-node.tenant-sources',
);
const shared = globalThis as {
  [TENANTS]?: WeakMap<object, ActiveTenant>;
  [SOURCES]?: WeakMap<object, TenantSource>;
};
const tenants = (shared[TENANTS] ??= new WeakMap());
const sources = (shared[SOURCES] ??= new WeakMap());

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
 * What names the tenant that {@link tenantOf} returns.
 *
 * @public
 */
export function tenantSourceOf(request: Request): TenantSource {
  return sources.get(request) ?? 'default';
}

/**
 * Gives a request its tenant, which {@link tenantOf} returns from then on. It is for
 * gates, and for tests of routes.
 *
 * @public
 */
export function assignTenant(
  request: Request,
  tenant: ActiveTenant,
  source: TenantSource = 'default',
): void {
  const { tenantId, tenantSlug } = tenant;
  tenants.set(request, Object.freeze({ tenantId, tenantSlug }));
  sources.set(request, source);
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
