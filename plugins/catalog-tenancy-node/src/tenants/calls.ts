import type { BackstageCredentials } from '@backstage/backend-plugin-api';
import type { Request } from 'express';
import { AsyncLocalStorage } from 'node:async_hooks';
import type { ActiveTenant } from './TenantDirectory';
import { tenantOf } from './TenantGate';

// In the registry of symbols, because the gate and a plugin may each bring a copy of
// this package.
const STATE = Symbol.for('backstage-plugin-catalog-tenancy-node.calls');
const shared = globalThis as {
  [STATE]?: {
    carried: WeakMap<object, ActiveTenant>;
    handling: AsyncLocalStorage<ActiveTenant>;
  };
};
const { carried, handling } = (shared[STATE] ??= {
  carried: new WeakMap(),
  handling: new AsyncLocalStorage(),
});

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
  const copy: BackstageCredentials<TPrincipal> = Object.create(
    Object.getPrototypeOf(credentials),
    Object.getOwnPropertyDescriptors(credentials),
  );
  carryTenant(copy, tenant);
  return copy;
}

/**
 * Has credentials carry a tenant. It is for gates, which know that the credentials are
 * those of one request.
 *
 * @public
 */
export function carryTenant(
  credentials: BackstageCredentials,
  tenant: ActiveTenant,
): void {
  carried.set(credentials, tenant);
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
