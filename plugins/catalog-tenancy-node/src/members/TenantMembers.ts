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
 * Tells who may enter a tenant.
 *
 * Members are principals of the identity catalog, which is that of the default tenant:
 * nothing of the tenant's own catalog decides who they are.
 *
 * @public
 */
export interface TenantMembers {
  /**
   * The highest role that any of the principals has in the tenant; nothing if none of
   * them is a member.
   *
   * Answers are remembered for some seconds, but only while this process is known to hear
   * of changes that others make: a member that was removed through any backend is out at
   * once.
   *
   * @param principals - of one caller: the references of a user and of the groups that
   * the user belongs to, in any case, or the subject of a service
   * @throws {@link DatabaseUnavailableError} if there is no connection in time
   */
  roleOf(
    tenant: ActiveTenant,
    principals: readonly string[],
  ): Promise<TenantRole | undefined>;

  /**
   * Those of the principals that are members of the tenant, in the form in which they are stored,
   * with the role of each.
   *
   * @throws as {@link TenantMembers.roleOf}
   */
  rolesOf(
    tenant: ActiveTenant,
    principals: readonly string[],
  ): Promise<ReadonlyMap<string, TenantRole>>;

  /**
   * Makes the next look-ups of this tenant ask the database. Code that changes members
   * calls it after the change.
   */
  forget(tenantId: string): void;
}

/**
 * The members of tenants. It asks no permissions.
 *
 * What changes them takes the administrator's path.
 *
 * @public
 */
export interface TenantMemberStore {
  /**
   * A part of the members of an active tenant, ordered by principal, and how many there
   * are in all.
   *
   * @throws `InputError` for what is out of bounds; `NotFoundError` if there is no such
   * tenant, or it is deleted
   */
  list(
    tenantSlug: string,
    page?: ListMembers,
  ): Promise<{ items: TenantMember[]; totalItems: number }>;

  /**
   * A member of an active tenant; nothing if the principal is none.
   *
   * @throws `InputError` for what is no principal; `NotFoundError` as in `list`
   */
  get(tenantSlug: string, principal: string): Promise<TenantMember | undefined>;

  /**
   * Adds a member to an active tenant, or changes the role of one.
   *
   * @param options - `by` is the user or service that does it; with `keepAdmin`, the last
   * admin of the tenant stays one
   * @throws `InputError` for what is no principal or role; `NotFoundError` as in `list`;
   * `ConflictError` for what `keepAdmin` refuses
   */
  put(
    tenantSlug: string,
    member: { principal: string; role: TenantRole },
    options: { by: string; keepAdmin?: boolean },
  ): Promise<{
    member: TenantMember;
    outcome: 'created' | 'changed' | 'unchanged';
  }>;

  /**
   * Removes a member of an active tenant, who is out at once.
   *
   * @param options - with `keepAdmin`, the last admin of the tenant stays
   * @throws `InputError` for what is no principal; `NotFoundError` if it is no member, or
   * as in `list`; `ConflictError` for what `keepAdmin` refuses
   */
  remove(
    tenantSlug: string,
    principal: string,
    options?: { keepAdmin?: boolean },
  ): Promise<void>;

  /**
   * A part of the active tenants that a caller may enter, ordered by slug, and how many
   * there are in all. It is one statement.
   *
   * @param principals - as in {@link TenantMembers.roleOf}
   * @param options - with `beyond`, also those that the caller enters without being a
   * member: the default tenant, or all; there the role is `member` for one who has none
   * @throws `InputError` for what is out of bounds
   */
  tenantsOf(
    principals: readonly string[],
    options?: ListMembers & { beyond?: 'default' | 'all' },
  ): Promise<{ items: Membership[]; totalItems: number }>;
}
