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

/**
 * The members of tenants. It checks no permissions.
 *
 * Changes take the administrator's path.
 *
 * @public
 */
export interface TenantMemberStore {
  /**
   * A page of the members of an active tenant, ordered by principal, and their total number.
   *
   * @throws `InputError` for what is out of bounds; `NotFoundError` if there is no such
   * tenant, or it is deleted
   */
  list(
    tenantSlug: string,
    page?: ListMembers,
  ): Promise<{ items: TenantMember[]; totalItems: number }>;

  /**
   * A member of an active tenant; undefined if the principal is not a member.
   *
   * @throws `InputError` for an invalid principal; `NotFoundError` as in `list`
   */
  get(tenantSlug: string, principal: string): Promise<TenantMember | undefined>;

  /**
   * Adds a member to an active tenant, or changes the role of one.
   *
   * @param options - `by`: the user or service that makes the change; `keepAdmin`: refuses to
   * demote the last admin; `whileAdmin`: the principals of who makes the change as an admin of the
   * tenant, one of which must still be an admin when it is made
   * @throws `InputError` for an invalid principal or role; `NotFoundError` as in `list`;
   * `ConflictError` by `keepAdmin`; `NotAllowedError` by `whileAdmin`
   */
  put(
    tenantSlug: string,
    member: { principal: string; role: TenantRole },
    options: {
      by: string;
      keepAdmin?: boolean;
      whileAdmin?: readonly string[];
    },
  ): Promise<{
    member: TenantMember;
    outcome: 'created' | 'changed' | 'unchanged';
  }>;

  /**
   * Removes a member of an active tenant, with immediate effect.
   *
   * @param options - `keepAdmin`: refuses to remove the last admin; `whileAdmin`: as in `put`
   * @throws `InputError` for an invalid principal; `NotFoundError` if it is not a member, or as
   * in `list`; `ConflictError` by `keepAdmin`; `NotAllowedError` by `whileAdmin`
   */
  remove(
    tenantSlug: string,
    principal: string,
    options?: { keepAdmin?: boolean; whileAdmin?: readonly string[] },
  ): Promise<void>;

  /**
   * A page of the active tenants that a caller may enter, ordered by slug, and their total
   * number. One statement.
   *
   * @param principals - as in {@link TenantMembers.roleOf}
   * @param options - `beyond`: includes tenants that the caller may enter without membership,
   * the default tenant or all, with the role `member`
   * @throws `InputError` for what is out of bounds
   */
  tenantsOf(
    principals: readonly string[],
    options?: ListMembers & { beyond?: 'default' | 'all' },
  ): Promise<{ items: Membership[]; totalItems: number }>;
}
