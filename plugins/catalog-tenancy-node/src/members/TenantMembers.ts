import type {
  ListMembers,
  Membership,
  PutMember,
  TenantMember,
  TenantRole,
} from 'backstage-plugin-tenants-common';
import type { ActiveTenant } from '../tenants/TenantDirectory';

export type { ListMembers, Membership, PutMember, TenantMember, TenantRole };

/**
 * Looks up members of tenants.
 *
 * Members are principals of the identity catalog, which is the default tenant's catalog. A
 * tenant's own catalog does not affect membership.
 *
 * @public
 */
export interface TenantMembers {
  /**
   * The highest role of the principals in the tenant; undefined if none is a member.
   *
   * Results are cached for some seconds, but only while this process receives notifications of
   * changes: a member that any backend removes loses access at once.
   *
   * @param principals - those of one caller: the refs of a user and of the user's groups, in
   * any case, or the subject of a service
   * @throws {@link DatabaseUnavailableError} if there is no connection in time
   */
  roleOf(
    tenant: ActiveTenant,
    principals: readonly string[],
  ): Promise<TenantRole | undefined>;

  /**
   * The principals that are members of the tenant, as stored, with their roles.
   *
   * @throws as {@link TenantMembers.roleOf}
   */
  rolesOf(
    tenant: ActiveTenant,
    principals: readonly string[],
  ): Promise<ReadonlyMap<string, TenantRole>>;

  /**
   * Drops cached results of this tenant. Call it after a change of members.
   */
  forget(tenantId: string): void;
}
