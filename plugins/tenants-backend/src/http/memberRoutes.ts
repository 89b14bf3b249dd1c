import { NotFoundError } from '@backstage/errors';
import { createBodyReader } from '@internal/http';
import type { BasicPermission } from '@backstage/plugin-permission-common';
import {
  parsePrincipal,
  parsePutMember,
  tenantMemberReadPermission,
  type TenantMemberStore,
  tenantMemberUpdatePermission,
} from 'backstage-plugin-catalog-tenancy-node';
import type { Router } from 'express';
import {
  type CallerCredentials,
  nameOf,
} from '../authorization/Administrators';
import type { OwnTenants } from '../authorization/OwnTenants';
import type { TenantAdmins } from '../authorization/TenantAdmins';
import { sendPage } from './answers';
import type { Access, MakeOperation } from './operations';
import { parsePageQuery } from './query';

const readBody = createBodyReader({ limit: 10 * 1024 });

/** What the routes of members work with. */
export interface MemberRoutesOptions {
  members: TenantMemberStore;
  operation: MakeOperation;
  ownTenants: OwnTenants;
  tenantAdmins: TenantAdmins;
}

/** Adds the routes of members, and of the tenants that a caller may enter. */
export function addMemberRoutes(
  router: Router,
  { members, operation, ownTenants, tenantAdmins }: MemberRoutesOptions,
): void {
  /** For administrators of all tenants, and of the one that the path names. */
  const may = (
    permission: BasicPermission,
  ): Access<{ by: string; keepAdmin: boolean }> => ({
    changes: permission.attributes.action !== 'read',
    check: async (credentials, req) => ({
      by: nameOf(credentials),
      ...(await tenantAdmins.assertMay(
        credentials,
        permission,
        req.params.slug,
        'the members',
      )),
    }),
  });
  const anyCaller: Access<CallerCredentials> = {
    changes: false,
    check: async credentials => credentials,
  };

  router.get(
    '/mine',
    operation('list-own-tenants', anyCaller, async (req, res, credentials) => {
      const page = parsePageQuery(req);
      sendPage(req, res, await ownTenants.list(credentials, page), page);
    }),
  );

  router.get(
    '/:slug/members',
    operation(
      'list-tenant-members',
      may(tenantMemberReadPermission),
      async (req, res) => {
        const page = parsePageQuery(req);
        sendPage(req, res, await members.list(req.params.slug, page), page);
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
            )} is no member of the tenant '${slug}'`,
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
        const { role } = parsePutMember(await readBody(req, res));
        const { member, outcome } = await members.put(
          slug,
          { principal, role },
          caller,
        );
        if (outcome === 'created') {
          const path = [slug, 'members', encodeURIComponent(member.principal)];
          res.status(201).location(`${req.baseUrl}/${path.join('/')}`);
        }
        res.json(member);
      },
      async (req, res) => ({ ...parsePutMember(await readBody(req, res)) }),
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
