import {
  tenantAuditReadPermission,
  type TenantAuditTrail,
} from 'backstage-plugin-catalog-tenancy-node';
import type { Router } from 'express';
import type { TenantAdmins } from '../authorization/TenantAdmins';
import { tenantAdminAccess } from './access';
import type { MakeOperation } from './operations';
import { parseAuditQuery } from './query';
import { sendLines } from './sendLines';

/** The dependencies of the routes of audit trails. */
export interface AuditRoutesOptions {
  operation: MakeOperation;
  tenantAdmins: TenantAdmins;
  trail: Pick<TenantAuditTrail, 'list'>;
}

/** Adds the route of the audit trail. */
export function addAuditRoutes(
  router: Router,
  { operation, tenantAdmins, trail }: AuditRoutesOptions,
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
