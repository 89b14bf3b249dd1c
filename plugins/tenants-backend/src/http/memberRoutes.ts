import { NotFoundError } from '@backstage/errors';
import { parseDemands } from '@internal/http';
import {
  parsePrincipal,
  tenantMemberReadPermission,
  tenantMemberUpdatePermission,
} from 'backstage-plugin-catalog-tenancy-node';
import { pageSchema, putMemberSchema } from 'backstage-plugin-tenants-common';
import type { Router } from 'express';
import type { CallerCredentials } from '../authorization/Administrators';
import { tenantAdminAccess } from './access';
import { sendPage } from './answers';
import { bodyOf } from './body';
import type { Access } from './operations';
import { parseFindPrincipalsQuery, parseQuery } from './query';
import type { RouterOptions } from './RouterOptions';

const readMember = bodyOf(putMemberSchema, 'member', { limit: 10 * 1024 });

/** Adds the routes of members. */
export function addMemberRoutes(router: Router, options: RouterOptions): void {
  const { identities, members, operation, tenantAdmins } = options;
  const may = tenantAdminAccess(tenantAdmins, 'the members');
  /** Allows callers who may add members. */
  const mayFind: Access<CallerCredentials> = {
    changes: false,
    check: async (credentials, req) => {
      await may(tenantMemberUpdatePermission).check(credentials, req);
      return credentials;
    },
  };

  router.get(
    '/:slug/members',
    operation(
      'list-tenant-members',
      may(tenantMemberReadPermission),
      async (req, res) => {
        const page = parseQuery(pageSchema, req);
        sendPage(req, res, await members.list(req.params.slug, page), page);
      },
    ),
  );

  router.get(
    '/:slug/principals',
    operation(
      'find-tenant-principals',
      mayFind,
      async (req, res, credentials) => {
        const query = parseFindPrincipalsQuery(req);
        // Throws for an unknown or deleted tenant.
        await members.list(req.params.slug, { limit: 1 });
        const found = await identities.find(credentials, query);
        res.set('X-Total-Count', String(found.totalItems)).json(found.items);
      },
    ),
  );

  router.get(
    '/:slug/members/:principal',
    operation(
      'get-tenant-member',
      may(tenantMemberReadPermission),
      async (req, res) => {
        const { slug, principal } = req.params;
        const member = await members.get(slug, principal);
        if (!member) {
          throw new NotFoundError(
            `${JSON.stringify(
              parsePrincipal(principal),
            )} is not a member of the tenant '${slug}'`,
          );
        }
        res.json(member);
      },
    ),
  );

  router.put(
    '/:slug/members/:principal',
    operation(
      'put-tenant-member',
      may(tenantMemberUpdatePermission),
      async (req, res, caller) => {
        const { slug, principal } = req.params;
        const { role } = await readMember(req, res);
        const { member, outcome } = await members.put(
          slug,
          { principal, role },
          { ...caller, demands: parseDemands(req) },
        );
        if (outcome === 'created') {
          const path = [slug, 'members', encodeURIComponent(member.principal)];
          res.status(201).location(`${req.baseUrl}/${path.join('/')}`);
        }
        res.json(member);
      },
      readMember,
    ),
  );

  router.delete(
    '/:slug/members/:principal',
    operation(
      'remove-tenant-member',
      may(tenantMemberUpdatePermission),
      async (req, res, caller) => {
        const { slug, principal } = req.params;
        await members.remove(slug, principal, caller);
        res.status(204).end();
      },
    ),
  );
}
