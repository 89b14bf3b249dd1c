import type {
  PutTenantSignIn,
  TenantSignIn,
} from 'backstage-plugin-tenants-common';
import type { ActiveTenant } from '../tenants/TenantDirectory';

/**
 * The OpenID providers with which users of tenants sign in. It checks no permissions.
 *
 * @public
 */
export interface TenantSignInStore {
  /**
   * The provider of an active tenant; undefined if it has none.
   *
   * @throws `NotFoundError` if there is no such tenant, or it is deleted
   */
  get(tenantSlug: string): Promise<TenantSignIn | undefined>;

  /**
   * Sets or replaces the provider of an active tenant.
   *
   * @throws `InputError` for an invalid provider; `NotFoundError` as in `get`; `ConflictError`
   * for a tenant whose slug is a reserved namespace of users
   */
  put(
    tenantSlug: string,
    provider: PutTenantSignIn,
    options: { by: string },
  ): Promise<TenantSignIn>;

  /**
   * Removes the provider: it can neither sign in users nor refresh sessions any more.
   *
   * @throws `NotFoundError` if there is none, or as in `get`
   */
  remove(tenantSlug: string): Promise<void>;

  /**
   * The current provider, for a sign-in.
   *
   * @param tenantSlug - untrusted input
   * @returns undefined if the tenant does not exist, is deleted, or has no provider
   */
  find(
    tenantSlug: string,
  ): Promise<{ tenant: ActiveTenant; provider: PutTenantSignIn } | undefined>;
}
