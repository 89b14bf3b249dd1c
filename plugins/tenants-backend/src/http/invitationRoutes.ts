import { NotAllowedError } from '@backstage/errors';
import {
  tenantMemberReadPermission,
  tenantMemberUpdatePermission,
} from 'backstage-plugin-catalog-tenancy-node';
import {
  acceptInvitationSchema,
  type CreatedInvitation,
  createInvitationSchema,
  pageSchema,
} from 'backstage-plugin-tenants-common';
import type { Router } from 'express';
import { tenantAdminAccess } from './access';
import { sendPage } from './answers';
import { bodyOf } from './body';
import type { Access } from './operations';
import { parseNewId, parseQuery } from './query';
import type { RouterOptions } from './RouterOptions';

const LIMITS = { limit: 10 * 1024 };
const readInvitation = bodyOf(createInvitationSchema, 'invitation', LIMITS);
const readAcceptance = bodyOf(acceptInvitationSchema, 'request', LIMITS);

/** Adds the routes of invitations; callers who may change members may invite. */
export function addInvitationRoutes(
  router: Router,
  options: RouterOptions,
): void {
  const { appUrl, identities, invitations, logger, operation, sender } =
    options;

  const may = tenantAdminAccess(options.tenantAdmins, 'the members');
  const anyUser: Access<string> = {
    changes: true,
    check: async ({ principal }) => {
      if (principal.type !== 'user') {
        throw new NotAllowedError('Only users accept invitations');
      }
      return principal.userEntityRef;
    },
  };

  /** Whether the invitation was sent; if not, the link can be copied. */
  async function send(
    slug: string,
    tenantName: string,
    { email, link, role, created_by, expires_at, token }: CreatedInvitation,
  ): Promise<boolean> {
    if (!sender || email === null) {
      return false;
    }
    try {
      await sender.send({
        email,
        link,
        role,
        tenantSlug: slug,
        tenantName,
        invitedBy: created_by,
        expiresAt: expires_at,
      });
      return true;
    } catch (error) {
      // The error may quote what was to be sent.
      const said = String(error).replaceAll(token, '<token>');
      logger.warn(
        `An invitation into the tenant '${slug}' could not be sent: ${said}`,
      );
      return false;
    }
  }

  router.get(
    '/:slug/invitations',
    operation(
      'list-tenant-invitations',
      may(tenantMemberReadPermission),
      async (req, res) => {
        const page = parseQuery(pageSchema, req);
        sendPage(req, res, await invitations.list(req.params.slug, page), page);
      },
    ),
  );

  router.post(
    '/:slug/invitations',
    operation(
      'create-tenant-invitation',
      may(tenantMemberUpdatePermission),
      async (req, res, caller) => {
        const { slug } = req.params;
        const request = await readInvitation(req, res);
        const { invitation, tenantName, token } = await invitations.create(
          slug,
          request,
          { ...caller, newId: parseNewId(req, [slug, caller.by]) },
        );
        const created = {
          ...invitation,
          token,
          // In the fragment, which browsers do not send.
          link: `${appUrl}/invitation#${token}`,
          sent: false,
        };
        res
          .status(201)
          .set('Cache-Control', 'no-store')
          .json({ ...created, sent: await send(slug, tenantName, created) });
      },
      readInvitation,
    ),
  );

  router.delete(
    '/:slug/invitations/:id',
    operation(
      'revoke-tenant-invitation',
      may(tenantMemberUpdatePermission),
      async (req, res, caller) => {
        await invitations.revoke(req.params.slug, req.params.id, caller);
        res.status(204).end();
      },
    ),
  );

  router.post(
    '/mine/accepted-invitations',
    operation(
      'accept-tenant-invitation',
      anyUser,
      async (req, res, userRef) => {
        const { token } = await readAcceptance(req, res);
        // Looked up for every token, so that the response time does not reveal valid ones.
        const email = await identities.addressOf(userRef);
        const membership = await invitations.accept(token, { userRef, email });
        res.locals.accepted = { slug: membership.tenant_slug };
        res.status(201).json(membership);
      },
      async (_req, res) => res.locals.accepted ?? {},
    ),
  );
}
