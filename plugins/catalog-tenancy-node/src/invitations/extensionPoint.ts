import { createExtensionPoint } from '@backstage/backend-plugin-api';
import type { TenantRole } from 'backstage-plugin-tenants-common';

/**
 * An invitation that was just made, with the link that accepts it: keep that out of logs.
 *
 * @public
 */
export interface InvitationToSend {
  /** Whom it is for. */
  email: string;
  /** Opens the page of the portal that accepts it. */
  link: string;
  /** The tenant that it is to. */
  tenantSlug: string;
  /** What people call that. */
  tenantName: string;
  /** What the person will be there. */
  role: TenantRole;
  /** The user or service that invites. */
  invitedBy: string;
  /** ISO 8601, UTC */
  expiresAt: string;
}

/**
 * Sends invitations, such as by mail.
 *
 * @public
 */
export interface InvitationSender {
  /** Where it rejects, the invitation stays, and its link can be copied. */
  send(invitation: InvitationToSend): Promise<void>;
}

/**
 * Lets a module of the plugin `tenants` send the invitations that have an address.
 *
 * @public
 */
export interface TenantInvitationsExtensionPoint {
  /** There can be one. */
  setSender(sender: InvitationSender): void;
}

/**
 * {@inheritDoc TenantInvitationsExtensionPoint}
 *
 * @public
 */
export const tenantInvitationsExtensionPoint =
  createExtensionPoint<TenantInvitationsExtensionPoint>({
    id: 'tenants.invitations',
  });
