import {
  tenantShareReadPermission,
  tenantShareUpdatePermission,
} from 'backstage-plugin-catalog-tenancy-node';
import {
  createShareSchema,
  updateShareSchema,
} from 'backstage-plugin-tenants-common';
import type { Router } from 'express';
import { administratorAccess, tenantAdminAccess } from './access';
import { bodyOf } from './body';
import { parseNewId } from './query';
import type { RouterOptions } from './RouterOptions';

// Enough for 1,000 slugs and 20 filters of 1,000 characters.
const LIMITS = { limit: 200 * 1024 };
const readShare = bodyOf(createShareSchema, 'share', LIMITS);
const readChanges = bodyOf(updateShareSchema, 'share', LIMITS);

/** Adds the routes of shares. */
export function addShareRoutes(router: Router, options: RouterOptions): void {
  const { administrators, operation, shares, tenantAdmins } = options;
  const maySee = tenantAdminAccess(
    tenantAdmins,
    'the shares',
  )(tenantShareReadPermission);
  // Not admins of the tenant, because shares reach other tenants.
  const mayShare = administratorAccess(administrators)(
    tenantShareUpdatePermission,
  );

  router.get(
    '/:slug/shares',
    operation('list-tenant-shares', maySee, async (req, res) => {
      res.json(await shares.list(req.params.slug));
    }),
  );

  router.post(
    '/:slug/shares',
    operation(
      'create-tenant-share',
      mayShare,
      async (req, res, { by }) => {
        const { slug } = req.params;
        const share = await readShare(req, res);
        const newId = parseNewId(req, [slug, by]);
        const created = await shares.create(slug, share, { by, newId });
        res
          .status(201)
          .location(`${req.baseUrl}/${slug}/shares/${created.share_id}`)
          .json(created);
      },
      readShare,
    ),
  );

  router.patch(
    '/:slug/shares/:share',
    operation(
      'update-tenant-share',
      mayShare,
      async (req, res) => {
        const { share, slug } = req.params;
        const changes = await readChanges(req, res);
        res.json(await shares.update(slug, share, changes));
      },
      readChanges,
    ),
  );

  router.delete(
    '/:slug/shares/:share',
    operation('delete-tenant-share', mayShare, async (req, res) => {
      await shares.delete(req.params.slug, req.params.share);
      res.status(204).end();
    }),
  );
}
