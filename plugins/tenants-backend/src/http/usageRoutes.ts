import { tenantReadPermission } from 'backstage-plugin-catalog-tenancy-node';
import type { TenantUsageDay } from 'backstage-plugin-tenants-common';
import type { Router } from 'express';
import type { Access } from './operations';
import { parseUsageQuery } from './query';
import type { RouterOptions } from './RouterOptions';

/** Adds the route of a tenant's usage: current, or by day with a query. */
export function addUsageRoutes(router: Router, options: RouterOptions): void {
  const { administrators, operation, store, tenantAdmins, usage } = options;
  /** Allows administrators of all tenants, and admins of the tenant. */
  const maySee: Access<unknown> = {
    changes: false,
    check: async (credentials, req) =>
      (await administrators.may(credentials, tenantReadPermission)) ||
      tenantAdmins.assertMay(
        credentials,
        tenantReadPermission,
        req.params.slug,
        'the use',
      ),
  };

  router.get(
    '/:slug/usage',
    operation('get-tenant-usage', maySee, async (req, res) => {
      const { slug } = req.params;
      const byDay = parseUsageQuery(req);
      if (!byDay) {
        res.json(await store.usage(slug));
        return;
      }
      const days = await usage.list(slug, byDay.query);
      if (byDay.format === 'csv') {
        res.type('text/csv').send(toCsv(days));
      } else {
        res.json(days);
      }
    }),
  );
}

const COLUMNS = ['day', 'requests', 'database_ms', 'people', 'bytes'] as const;

/** Has a column for each kind of entity. */
function toCsv(days: TenantUsageDay[]): string {
  const kinds = [
    ...new Set(days.flatMap(({ entities }) => Object.keys(entities))),
  ].sort();
  return [
    [...COLUMNS, ...kinds.map(kind => `entities_${kind}`)],
    ...days.map(day => [
      ...COLUMNS.map(name => day[name]),
      ...kinds.map(kind => day.entities[kind] ?? 0),
    ]),
  ]
    .map(cells => `${cells.map(toCell).join(',')}\r\n`)
    .join('');
}

/** Quotes a cell, because a kind may be any text. */
function toCell(value: string | number): string {
  const text = String(value);
  return /^[\w.-]*$/.test(text) ? text : `"${text.replace(/"/g, '""')}"`;
}
