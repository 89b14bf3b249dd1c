import { tenantAuditReadPermission } from 'backstage-plugin-catalog-tenancy-node';
import type { Router } from 'express';
import { tenantAdminAccess } from './access';
import type { Access } from './operations';
import { parseAuditQuery } from './query';
import { sendLines } from './sendLines';
import type { RouterOptions } from './RouterOptions';

/** Adds the route of the audit trail. */
export function addAuditRoutes(
  router: Router,
  { operation, tenantAdmins, trail }: RouterOptions,
): void {
  const { changes, check } = tenantAdminAccess(
    tenantAdmins,
    'the audit trail',
  )(tenantAuditReadPermission);
  /** Returns what checks the caller again, who may be removed while all events are sent. */
  const maySee: Access<() => Promise<unknown>> = {
    changes,
    async check(...caller) {
      await check(...caller);
      return () => check(...caller);
    },
  };

  router.get(
    '/:slug/audit',
    operation('list-tenant-audit', maySee, async (req, res, checkAgain) => {
      const { slug } = req.params;
      const { asLines, query } = parseAuditQuery(req);
      if (asLines) {
        await sendLines(res, async next => {
          await checkAgain();
          return trail.list(slug, { ...query, ...next });
        });
      } else {
        res.json(await trail.list(slug, query));
      }
    }),
  );
}
