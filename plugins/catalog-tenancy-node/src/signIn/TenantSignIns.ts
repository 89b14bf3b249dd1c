import type {
  PutTenantSignIn,
  TenantSignIn,
} from 'backstage-plugin-tenants-common';
import type { ActiveTenant } from '../tenants/TenantDirectory';

/**
 * The OpenID providers by which the people of tenants sign in. It asks no permissions.
 *
 * @public
 */
export interface TenantSignInStore {
  /**
   * That of an active tenant; nothing if it has none.
   *
   * @throws `NotFoundError` if there is no such tenant, or it is deleted
   */
  get(tenantSlug: string): Promise<TenantSignIn | undefined>;

  /**
   * Gives an active tenant a provider, in place of an earlier one.
   *
   * @throws `InputError` for what is no provider; `NotFoundError` as in `get`;
   * `ConflictError` for a tenant whose namespace of users is not its own
   */
  put(
    tenantSlug: string,
    provider: PutTenantSignIn,
    options: { by: string },
  ): Promise<TenantSignIn>;

  /**
   * Takes the provider away: nobody signs in by it any more, or goes on with a session.
   *
   * @throws `NotFoundError` if there is none, or as in `get`
   */
  remove(tenantSlug: string): Promise<void>;

  /**
   * As it is at this moment, for somebody who signs in.
   *
   * @param tenantSlug - as a stranger sent it
   * @returns nothing where there is no such tenant, it is deleted, or has none
   */
  find(
    tenantSlug: string,
  ): Promise<{ tenant: ActiveTenant; provider: PutTenantSignIn } | undefined>;
}
