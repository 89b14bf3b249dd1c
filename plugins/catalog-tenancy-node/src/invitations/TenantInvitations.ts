import type {
  CreateInvitation,
  ListMembers,
  Membership,
  TenantInvitation,
} from 'backstage-plugin-tenants-common';

/**
 * Invitations into tenants. It checks no permissions.
 *
 * @public
 */
export interface TenantInvitationStore {
  /**
   * A page of the invitations of an active tenant, newest first, and their total number.
   *
   * @throws `InputError` for what is out of bounds; `NotFoundError` if there is no such
   * tenant, or it is deleted
   */
  list(
    tenantSlug: string,
    page?: ListMembers,
  ): Promise<{ items: TenantInvitation[]; totalItems: number }>;

  /**
   * Invites into an active tenant.
   *
   * @param options - `by`: who invites; `whileAdmin`: as of `TenantMemberStore.put`
   * @returns the invitation, and the token that accepts it, of which only a hash is stored
   * @throws `InputError` for an invalid invitation; `NotFoundError` as in `list`;
   * `ConflictError` if the tenant has too many; `NotAllowedError` by `whileAdmin`
   */
  create(
    tenantSlug: string,
    request: CreateInvitation,
    options: { by: string; whileAdmin?: readonly string[] },
  ): Promise<{
    invitation: TenantInvitation;
    tenantName: string;
    token: string;
  }>;

  /**
   * Removes an invitation. A user who has accepted it stays a member.
   *
   * @throws `NotFoundError` if there is none, or as in `list`
   */
  revoke(tenantSlug: string, id: string): Promise<void>;

  /**
   * Makes a user a member of the token's tenant. Of several concurrent calls for one
   * invitation, one succeeds. A member with a higher role keeps it.
   *
   * @param token - untrusted input
   * @param person - `email`: the address in the identity catalog
   * @throws `NotFoundError`, with the same message and after the same single statement, if the
   * token is unknown, used, expired, revoked, for another address, or of a deleted tenant
   */
  accept(
    token: string,
    person: { userRef: string; email: string | undefined },
  ): Promise<Membership>;
}
