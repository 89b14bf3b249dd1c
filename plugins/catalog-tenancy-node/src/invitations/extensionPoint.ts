import { createExtensionPoint } from '@backstage/backend-plugin-api';
import type { TenantRole } from 'backstage-plugin-tenants-common';

/**
 * A new invitation with the link that accepts it. Do not log the link.
 *
 * @public
 */
export interface InvitationToSend {
  /** The address to send it to. */
  email: string;
  /** The page of the portal that accepts it. */
  link: string;
  /** The slug of the tenant. */
  tenantSlug: string;
  /** The name of the tenant. */
  tenantName: string;
  /** The role that the user will have. */
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
  /** Sends an invitation. If this rejects, the invitation stays, and its link can be copied. */
  send(invitation: InvitationToSend): Promise<void>;
}

/**
 * Lets a module of the plugin `tenants` send the invitations that have an address.
 *
 * @public
 */
export interface TenantInvitationsExtensionPoint {
  /** Sets the sender; there can be only one. */
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
