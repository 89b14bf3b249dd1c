import type {
  CreateInvitation,
  ListMembers,
  Membership,
  TenantInvitation,
} from 'backstage-plugin-tenants-common';

/**
 * Invitations into tenants. It asks no permissions.
 *
 * @public
 */
export interface TenantInvitationStore {
  /**
   * A part of the invitations of an active tenant, the newest first, and how many there are.
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
   * @returns the invitation, and the token that accepts it, which is stored nowhere
   * @throws `InputError` for what is no invitation; `NotFoundError` as in `list`;
   * `ConflictError` where the tenant has too many
   */
  create(
    tenantSlug: string,
    request: CreateInvitation,
    options: { by: string },
  ): Promise<{
    invitation: TenantInvitation;
    tenantName: string;
    token: string;
  }>;

  /**
   * Removes an invitation, which nobody can accept then. Who has accepted it stays a member.
   *
   * @throws `NotFoundError` if there is none, or as in `list`
   */
  revoke(tenantSlug: string, id: string): Promise<void>;

  /**
   * Makes somebody a member of the tenant that a token invites into. Of several who accept one
   * invitation at the same time, one does. A member with a higher role keeps it.
   *
   * @param token - as a stranger sent it
   * @param person - `email` is the address that the identity catalog has
   * @throws `NotFoundError` with the same words, after the same one statement, for a token that
   * is unknown, used, expired or revoked, for somebody else's, and for that of a deleted tenant
   */
  accept(
    token: string,
    person: { userRef: string; email: string | undefined },
  ): Promise<Membership>;
}
