import type { Executor } from '../engine/Executor';
import { columnExists } from '../schema/lookups';
import { escapeIdentifier } from '../sql';
import { DEFAULT_TENANT_ID } from '../schema/tables';
import { formatThings } from '../text';

/**
 * Rows of a tenant other than the default one.
 *
 * @public
 */
export interface TenantRows {
  /** Its slug; the id of a tenant that is not registered. */
  tenant: string;
  /** How many there are. */
  rows: number;
}

// In a sentence that somebody has to take in.
const LISTED = 5;

/**
 * Counts the rows of the other tenants in a table, those with most rows first. The
 * partition of the default tenant is left out by PostgreSQL.
 */
export async function readRowsOfOtherTenants(
  executor: Executor,
  table: string,
): Promise<TenantRows[]> {
  // A table of somebody else's under that name has no tenants.
  if (!(await columnExists(executor, table, 'tenant_id'))) {
    return [];
  }
  return executor.read<TenantRows>(
    `select coalesce(t.tenant_slug, r.tenant_id::text) as tenant, r.rows
       from (select tenant_id, count(*)::float8 as rows
               from ${escapeIdentifier(table)} where tenant_id <> $1
              group by tenant_id) r
       left join tenants t using (tenant_id)
      order by r.rows desc, 1`,
    [DEFAULT_TENANT_ID],
  );
}

/** `2,000 rows of 2 other tenants (acme 1,500, globex 500)`. */
export function describeRows(tenants: TenantRows[]): string {
  const total = tenants.reduce((sum, { rows }) => sum + rows, 0);
  const named = tenants
    .slice(0, LISTED)
    .map(({ tenant, rows }) => `${tenant} ${rows.toLocaleString('en-US')}`);
  const more = tenants.length - named.length;
  return (
    `${formatThings(total, 'row')} of ` +
    `${formatThings(tenants.length, 'other tenant')} (${[
      ...named,
      ...(more > 0 ? [`${more.toLocaleString('en-US')} more`] : []),
    ].join(', ')})`
  );
}
