import type { HttpRouterService } from '@backstage/backend-plugin-api';
import type { Request } from 'express';
import { commonToCopies } from './commonToCopies';
import { DEFAULT_TENANT_ID, DEFAULT_TENANT_SLUG } from './Tenant';
import type { ActiveTenant } from './TenantDirectory';

/**
 * Middleware in front of all routes of a plugin: decides to which tenant a request belongs and
 * whether its caller may enter that tenant.
 *
 * @public
 */
export interface TenantGate {
  /**
   * Declares that every route of this plugin reads the tenant of its request with {@link
   * tenantOf}, and neither shows nor changes data of another.
   *
   * Call it once in the plugin's `init`, before adding routes. Without it, only requests of the
   * default tenant reach the plugin, unless the operator lists the plugin in
   * `tenancy.plugins.shared`.
   */
  declareTenantAware(): void;

  /**
   * Whether a request would pass again: its tenant is active, and its caller may enter it. For
   * answers that are sent for a long time.
   *
   * @throws {@link DatabaseUnavailableError} if that cannot be read
   */
  stillAdmits(request: Request, tenant: ActiveTenant): Promise<boolean>;
}

/**
 * The part of a request that names its tenant:
 *
 * - `call`: another plugin made the request while it handled one of that tenant
 * - `hostname`: the host name of the request
 * - `token`: the token of a tenant
 * - `header`: `X-Tenant-Slug`
 * - `origin`: a page at a tenant's host name, which sent the request to another host
 * - `default`: none
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
  /**
   * Adds the gate of a plugin. `isClosed` is called each time, because the plugin declares
   * itself later.
   */
  add(pluginId: string, isClosed: () => boolean): void;

  /**
   * The sorted ids of the plugins of this process that answer tenants other than the default
   * one with 403. Plugins of other processes are not included.
   */
  closedPlugins(): string[];
}

/** Creates the list of a backend's gates. */
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

// Not a property of the request, which any middleware could set.
const tenants = commonToCopies(
  'tenants',
  () => new WeakMap<object, ActiveTenant>(),
);
const sources = commonToCopies(
  'tenant-sources',
  () => new WeakMap<object, TenantSource>(),
);

/**
 * The tenant of a request; with the flag off, the default tenant.
 *
 * For routes of plugins that have called {@link TenantGate.declareTenantAware}. The gate has
 * checked that the caller may enter this tenant.
 *
 * @throws Error for a request without a gate: the plugin has not declared itself, or the
 * backend lacks the module that adds gates
 * @public
 */
export function tenantOf(request: Request): ActiveTenant {
  const tenant = tenants.get(request);
  if (!tenant) {
    throw new Error(
      'The request has passed no gate that decides on its tenant. Call declareTenantAware() of tenantGateServiceRef before adding this route, and add backstage-plugin-catalog-backend-module-tenancy to the backend',
    );
  }
  return tenant;
}

/**
 * The part of the request that names the tenant of {@link tenantOf}.
 *
 * @public
 */
export function tenantSourceOf(request: Request): TenantSource {
  return sources.get(request) ?? 'default';
}

/**
 * Sets the tenant that {@link tenantOf} returns. For gates, and for tests of routes.
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
 * The gate with the flag off: every request belongs to the default tenant. Plugins that are not
 * tenant-aware are not affected.
 *
 * @public
 */
export class OpenTenantGate implements TenantGate {
  constructor(private readonly httpRouter: HttpRouterService) {}

  /** Sets the default tenant as the tenant of each request. */
  declareTenantAware(): void {
    this.httpRouter.use((req, _res, next) => {
      assignTenant(req, DEFAULT_TENANT);
      next();
    });
  }

  /** Always true: everybody may enter the default tenant. */
  async stillAdmits(): Promise<boolean> {
    return true;
  }
}
