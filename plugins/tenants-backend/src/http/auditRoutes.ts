import { tenantAuditReadPermission } from 'backstage-plugin-catalog-tenancy-node';
import type { Router } from 'express';
import { tenantAdminAccess } from './access';
import { parseAuditQuery } from './query';
import { sendLines } from './sendLines';
import type { RouterOptions } from './RouterOptions';

/** Adds the route of the audit trail. */
export function addAuditRoutes(
  router: Router,
  { operation, tenantAdmins, trail }: RouterOptions,
): void {
  const maySee = tenantAdminAccess(
    tenantAdmins,
    'the audit trail',
  )(tenantAuditReadPermission);

  router.get(
    '/:slug/audit',
    operation('list-tenant-audit', maySee, async (req, res) => {
      const { slug } = req.params;
      const { asLines, query } = parseAuditQuery(req);
      if (asLines) {
        await sendLines(res, next => trail.list(slug, { ...query, ...next }));
      } else {
        res.json(await trail.list(slug, query));
      }
    }),
  );
}
