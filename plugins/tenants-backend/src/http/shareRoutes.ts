import { createBodyReader } from '@internal/http';
import {
  tenantShareReadPermission,
  type TenantShareStore,
  tenantShareUpdatePermission,
} from 'backstage-plugin-catalog-tenancy-node';
import {
  createShareSchema,
  parseInput,
  updateShareSchema,
} from 'backstage-plugin-tenants-common';
import type { Router } from 'express';
import { type Administrators, nameOf } from '../authorization/Administrators';
import type { TenantAdmins } from '../authorization/TenantAdmins';
import type { Access, MakeOperation } from './operations';

// Enough for 1,000 slugs and 20 filters of 1,000 characters.
const readBody = createBodyReader({ limit: 200 * 1024 });

/** The dependencies of the routes of shares. */
export interface ShareRoutesOptions {
  administrators: Administrators;
  operation: MakeOperation;
  shares: TenantShareStore;
  tenantAdmins: TenantAdmins;
}

/** Adds the routes of shares. */
export function addShareRoutes(
  router: Router,
  options: ShareRoutesOptions,
): void {
  const { administrators, operation, shares, tenantAdmins } = options;
  /** Allows administrators of all tenants, and admins of the tenant in the path. */
  const maySee: Access<void> = {
    changes: false,
    check: async (credentials, { params }) => {
      await tenantAdmins.assertMay(
        credentials,
        tenantShareReadPermission,
        params.slug,
        'the shares',
      );
    },
  };
  /** Allows only administrators of all tenants, because shares reach other tenants. */
  const mayShare: Access<{ by: string }> = {
    changes: true,
    check: async credentials => {
      await administrators.assertMay(credentials, tenantShareUpdatePermission);
      return { by: nameOf(credentials) };
    },
  };

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
        const share = parseInput(
          createShareSchema,
          await readBody(req, res),
          'share',
        );
        const created = await shares.create(slug, share, { by });
        res
          .status(201)
          .location(`${req.baseUrl}/${slug}/shares/${created.share_id}`)
          .json(created);
      },
      async (req, res) => ({
        ...parseInput(createShareSchema, await readBody(req, res), 'share'),
      }),
    ),
  );

  router.patch(
    '/:slug/shares/:share',
    operation(
      'update-tenant-share',
      mayShare,
      async (req, res) => {
        const { share, slug } = req.params;
        const changes = parseInput(
          updateShareSchema,
          await readBody(req, res),
          'share',
        );
        res.json(await shares.update(slug, share, changes));
      },
      async (req, res) => ({
        ...parseInput(updateShareSchema, await readBody(req, res), 'share'),
      }),
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
