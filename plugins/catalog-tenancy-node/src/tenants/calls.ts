import type { BackstageCredentials } from '@backstage/backend-plugin-api';
import type { Request } from 'express';
import { AsyncLocalStorage } from 'node:async_hooks';
import type { TenantRole } from '../members/TenantMembers';
import { commonToCopies } from './commonToCopies';
import { DEFAULT_TENANT_ID, DEFAULT_TENANT_SLUG } from './Tenant';
import type { ActiveTenant } from './TenantDirectory';
import { tenantOf } from './TenantGate';

const { carried, handling } = commonToCopies('calls', () => ({
  carried: new WeakMap<object, ActiveTenant>(),
  handling: new AsyncLocalStorage<ActiveTenant>(),
}));
const roles = commonToCopies('roles', () => new WeakMap<object, FindRole>());

/** Finds the role of a caller in the tenant of its credentials. */
type FindRole = () => Promise<TenantRole | undefined>;

/**
 * Credentials that carry the tenant of a request. A plugin that calls the catalog or another
 * tenant-aware plugin with them acts in that tenant.
 *
 * @remarks
 *
 * The credentials of `httpAuth.credentials(request)` carry it already. Use this function for
 * others, such as the plugin's own credentials:
 *
 * ```ts
 * const own = await auth.getOwnServiceCredentials();
 * const credentials = withTenantOf(request, own);
 * const { items } = await catalog.getEntities({}, { credentials });
 * ```
 *
 * The given credentials are not changed; only the returned copy carries the tenant.
 *
 * @throws Error for a request without a gate, as {@link tenantOf}
 * @public
 */
export function withTenantOf<TPrincipal>(
  request: Request,
  credentials: BackstageCredentials<TPrincipal>,
): BackstageCredentials<TPrincipal> {
  return withTenant(tenantOf(request), credentials);
}

/**
 * Credentials that carry a tenant. For work for a tenant outside of a request; in a request,
 * use {@link withTenantOf}.
 *
 * @public
 */
export function withTenant<TPrincipal>(
  tenant: ActiveTenant,
  credentials: BackstageCredentials<TPrincipal>,
): BackstageCredentials<TPrincipal> {
  // A copy, because some credentials are shared by all requests. Some of Backstage's properties
  // are not enumerable.
  const copy = copyOf(credentials);
  const isSame = carriedTenant(credentials)?.tenantId === tenant.tenantId;
  carryTenant(copy, tenant, isSame ? roles.get(credentials) : undefined);
  return copy;
}

/**
 * The same credentials without a tenant. For data of the portal as a whole, even in a tenant's
 * request: identity, and permissions in the portal.
 *
 * @public
 */
export function withoutTenant<TPrincipal>(
  credentials: BackstageCredentials<TPrincipal>,
): BackstageCredentials<TPrincipal> {
  return carriedTenant(credentials) ? copyOf(credentials) : credentials;
}

function copyOf<TPrincipal>(
  credentials: BackstageCredentials<TPrincipal>,
): BackstageCredentials<TPrincipal> {
  return Object.create(
    Object.getPrototypeOf(credentials),
    Object.getOwnPropertyDescriptors(credentials),
  );
}

/**
 * Attaches a tenant to credentials. For gates, which know that the credentials belong to one
 * request.
 *
 * @param findRole - finds the role of the caller in the tenant on demand
 * @public
 */
export function carryTenant(
  credentials: BackstageCredentials,
  tenant: ActiveTenant,
  findRole?: () => Promise<TenantRole | undefined>,
): void {
  carried.set(credentials, tenant);
  if (findRole) {
    roles.set(credentials, findRole);
  }
}

/**
 * The role of the caller in the tenant of the credentials; undefined if the gate did not set
 * it.
 *
 * @public
 */
export async function carriedRole(
  credentials: BackstageCredentials,
): Promise<TenantRole | undefined> {
  return await roles.get(credentials)?.();
}

/**
 * The tenant for which a permission policy decides, and the user's role there. In the default
 * tenant there is no role, and only the policy decides.
 *
 * @remarks
 *
 * The policy's decision cannot grant more than the role allows.
 *
 * @param user - the second parameter of `PermissionPolicy.handle`
 * @public
 */
export async function tenantOfPolicyUser(
  user: { credentials: BackstageCredentials } | undefined,
): Promise<ActiveTenant & { role?: TenantRole }> {
  const tenant = user && carriedTenant(user.credentials);
  return tenant && tenant.tenantId !== DEFAULT_TENANT_ID
    ? { ...tenant, role: await carriedRole(user.credentials) }
    : { tenantId: DEFAULT_TENANT_ID, tenantSlug: DEFAULT_TENANT_SLUG };
}

/**
 * The tenant that credentials carry, if any.
 *
 * @public
 */
export function carriedTenant(
  credentials: BackstageCredentials,
): ActiveTenant | undefined {
  return carried.get(credentials);
}

/**
 * Runs the handlers of a request so that {@link currentTenant} returns its tenant. For gates.
 *
 * @public
 */
export function handleAs(tenant: ActiveTenant, handlers: () => void): void {
  handling.run(tenant, handlers);
}

/**
 * The tenant of the current request, if a handler of a tenant-aware plugin has called this
 * code.
 *
 * For functions that Backstage calls without the request, such as `getResources` of a
 * permission resource type. With the flag off it may be undefined, which means the default
 * tenant. If the request is at hand, use {@link tenantOf}: code that one request calls may
 * serve others, such as a queue or a batching loader.
 *
 * @public
 */
export function currentTenant(): ActiveTenant | undefined {
  return handling.getStore();
}
