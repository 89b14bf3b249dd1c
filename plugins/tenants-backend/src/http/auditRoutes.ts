import {
  tenantAuditReadPermission,
  type TenantAuditTrail,
} from 'backstage-plugin-catalog-tenancy-node';
import type { ListTenantAudit } from 'backstage-plugin-tenants-common';
import type { Response, Router } from 'express';
import { once } from 'node:events';
import type { TenantAdmins } from '../authorization/TenantAdmins';
import type { Access, MakeOperation } from './operations';
import { parseAuditQuery } from './query';

/** What the routes of audit trails work with. */
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
  /** For administrators of all tenants, and of the one that the path names. */
  const maySee: Access<void> = {
    changes: false,
    check: async (credentials, { params }) => {
      await tenantAdmins.assertMay(
        credentials,
        tenantAuditReadPermission,
        params.slug,
        'the audit trail',
      );
    },
  };

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

/** Sends all events, a page at a time, as fast as the caller reads. */
async function sendLines(
  res: Response,
  readPage: (next: ListTenantAudit) => ReturnType<TenantAuditTrail['list']>,
): Promise<void> {
  let page = await readPage({ limit: 500 });
  // What fails before this is answered as other failures are.
  res.type('application/jsonl');
  for (;;) {
    const lines = page.items.map(event => `${JSON.stringify(event)}\n`);
    if (!res.write(lines.join('')) && !res.closed) {
      await Promise.race([once(res, 'drain'), once(res, 'close')]);
    }
    if (!page.next_cursor || res.closed) {
      break;
    }
    page = await readPage({ limit: 500, cursor: page.next_cursor });
  }
  res.end();
}
