import type { BackstageCredentials } from '@backstage/backend-plugin-api';
import type { Request } from 'express';
import { AsyncLocalStorage } from 'node:async_hooks';
import type { TenantRole } from '../members/TenantMembers';
import { DEFAULT_TENANT_ID, DEFAULT_TENANT_SLUG } from './Tenant';
import type { ActiveTenant } from './TenantDirectory';
import { tenantOf } from './TenantGate';

// In the registry of symbols, because the gate and a plugin may each bring a copy of
// this package.
const STATE = Symbol.for('backstage-plugin-catalog-tenancy-node.calls');
const ROLES = Symbol.for('backstage-plugin-catalog-tenancy-node.roles');
const shared = globalThis as {
  [STATE]?: {
    carried: WeakMap<object, ActiveTenant>;
    handling: AsyncLocalStorage<ActiveTenant>;
  };
  [ROLES]?: WeakMap<object, FindRole>;
};
const { carried, handling } = (shared[STATE] ??= {
  carried: new WeakMap(),
  handling: new AsyncLocalStorage(),
});
const roles = (shared[ROLES] ??= new WeakMap());

/** Finds the role that a caller has in the tenant that the credentials carry. */
type FindRole = () => Promise<TenantRole | undefined>;

/**
 * Credentials that carry the tenant of a request: with them, a plugin acts in that
 * tenant when it calls the catalog or another tenant-aware plugin.
 *
 * @remarks
 *
 * The credentials that `httpAuth.credentials(request)` returns carry it already. This is
 * for others, such as those of the plugin itself:
 *
 * ```ts
 * const own = await auth.getOwnServiceCredentials();
 * const credentials = withTenantOf(request, own);
 * const { items } = await catalog.getEntities({}, { credentials });
 * ```
 *
 * The given credentials stay what they were: only the returned ones carry the tenant,
 * for as long as they are kept.
 *
 * @throws Error for a request that has passed no gate, as {@link tenantOf} does
 * @public
 */
export function withTenantOf<TPrincipal>(
  request: Request,
  credentials: BackstageCredentials<TPrincipal>,
): BackstageCredentials<TPrincipal> {
  return withTenant(tenantOf(request), credentials);
}

/**
 * Credentials that carry a tenant. It is for what works for one tenant without a request;
 * where there is a request, use {@link withTenantOf}.
 *
 * @public
 */
export function withTenant<TPrincipal>(
  tenant: ActiveTenant,
  credentials: BackstageCredentials<TPrincipal>,
): BackstageCredentials<TPrincipal> {
  // A copy: some are made once, for all requests. What Backstage hides in credentials
  // is not enumerable.
  const copy = copyOf(credentials);
  const isSame = carriedTenant(credentials)?.tenantId === tenant.tenantId;
  carryTenant(copy, tenant, isSame ? roles.get(credentials) : undefined);
  return copy;
}

/**
 * The same credentials as they are outside of every tenant. It is for what belongs to the portal
 * as a whole, also in the request of a tenant: who somebody is, and what they may do there.
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
 * Has credentials carry a tenant. It is for gates, which know that the credentials are
 * those of one request.
 *
 * @param findRole - finds the role of the caller in the tenant, once it is asked for
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
 * The role that the caller has in the tenant that credentials carry; nothing where the gate has not
 * said it.
 *
 * @public
 */
export async function carriedRole(
  credentials: BackstageCredentials,
): Promise<TenantRole | undefined> {
  return await roles.get(credentials)?.();
}

/**
 * The tenant in which a permission policy decides, and the role that the user has there. In the
 * default tenant there is no role: everything is as the policy says.
 *
 * @remarks
 *
 * Whatever the policy answers, it can't give a user more than the role has.
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
 * Runs the handlers of a request of a tenant-aware plugin, for which
 * {@link currentTenant} returns its tenant. It is for gates.
 *
 * @public
 */
export function handleAs(tenant: ActiveTenant, handlers: () => void): void {
  handling.run(tenant, handlers);
}

/**
 * The tenant of the request that is being handled, if the code that asks was called by a
 * handler of a tenant-aware plugin.
 *
 * It is for functions that Backstage calls without the request, such as `getResources`
 * of a permission resource type. While the flag is off there may be none, and all is the
 * default tenant's. Where there is a request, use {@link tenantOf}: code
 * that one request calls may serve another, such as a queue or a loader that collects what
 * several ask for.
 *
 * @public
 */
export function currentTenant(): ActiveTenant | undefined {
  return handling.getStore();
}
