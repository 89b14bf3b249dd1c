import { parseDemands } from '@internal/http';
import {
  tenantMemberReadPermission,
  tenantMemberUpdatePermission,
} from 'backstage-plugin-catalog-tenancy-node';
import { putTenantSignInSchema } from 'backstage-plugin-tenants-common';
import type { Router } from 'express';
import { tenantAdminAccess } from './access';
import { bodyOf } from './body';
import type { RouterOptions } from './RouterOptions';

const readProvider = bodyOf(putTenantSignInSchema, 'sign-in', {
  limit: 100 * 1024,
});

/** Adds the routes of tenants' sign-in, which need the permission to change members. */
export function addSignInRoutes(
  router: Router,
  { operation, signIns, tenantAdmins }: RouterOptions,
): void {
  const may = tenantAdminAccess(tenantAdmins, 'the members');

  router.get(
    '/:slug/sign-in',
    operation(
      'get-tenant-sign-in',
      may(tenantMemberReadPermission),
      async (req, res) => {
        res.json((await signIns.get(req.params.slug)) ?? null);
      },
    ),
  );

  router.put(
    '/:slug/sign-in',
    operation(
      'put-tenant-sign-in',
      may(tenantMemberUpdatePermission),
      async (req, res, caller) => {
        const { slug } = req.params;
        const provider = await readProvider(req, res);
        const demands = parseDemands(req);
        res.json(await signIns.put(slug, provider, { ...caller, demands }));
      },
      // The body may contain a secret by mistake.
      'errors may quote the body',
    ),
  );

  router.delete(
    '/:slug/sign-in',
    operation(
      'remove-tenant-sign-in',
      may(tenantMemberUpdatePermission),
      async (req, res, caller) => {
        await signIns.remove(req.params.slug, caller);
        res.status(204).end();
      },
    ),
  );
}
