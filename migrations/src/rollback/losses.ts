import { adoptedEngine } from '../adopt/state';
import type { Executor } from '../engine/Executor';
import type { PhaseNumber, StepContext } from '../engine/Step';
import type { TenancyMigration } from '../engine/TenancyMigration';
import { tenantsTable } from '../phases/phase1_tenant_column/10_tenants_table';
import { partitionedTables } from '../phases/phase5_partitions/10_partitioned_tables';
import { PRODUCT_MIGRATIONS } from '../productTables/migrations';
import { columnExists } from '../schema/lookups';
import { isSwapped, waitingName } from '../schema/partitions';
import {
  DEFAULT_TENANT_ID,
  TENANT_LIMITS,
  TENANT_TABLES,
} from '../schema/tables';
import { escapeIdentifier } from '../sql';
import { enumerate, formatCount, formatThings } from '../text';
import { readCreatedCatalog } from '../schema/createdCatalog';
import { readTenantSchemas } from './tenantSchemas';
import { firstToUndo, isBeforeOrAt } from './wayBack';

/**
 * What a rollback deletes that is nowhere else, a sentence for each: rows of other
 * tenants, for which the tables of before have no room, members of tenants, their
 * engines, and the tenants themselves.
 */
export async function readLosses(
  migration: TenancyMigration,
  to?: PhaseNumber | 0,
): Promise<string[]> {
  const { executor } = migration.context;
  const losses: string[] = [];
  if ((await readCreatedCatalog(migration.context))?.dropping) {
    // The losses were accepted by the run that has begun to drop.
    return losses;
  }
  const first = await firstToUndo(migration, to);
  if (first && isBeforeOrAt(first, partitionedTables)) {
    const swapped = await isSwapped(executor);
    for (const table of TENANT_TABLES) {
      const tenants = await readRowsOfOtherTenants(
        executor,
        swapped ? table : await waitingName(executor, table),
      );
      if (tenants.length > 0) {
        losses.push(`${table}: ${describeRows(tenants)}`);
      }
    }
    losses.push(...(await readProductLosses(migration)));
  }
  if (first && isBeforeOrAt(first, tenantsTable)) {
    losses.push(...(await readTenantsToDelete(executor)));
    const schemas = await readTenantSchemas(migration.context);
    if (schemas.length > 0) {
      const many = formatThings(schemas.length, 'schema');
      losses.push(
        `engines and plugins of tenants: ${many} (${enumerate(schemas)})`,
      );
    }
    losses.push(...(await readOwnRows(migration.context)));
  }
  return losses;
}

/** What people have put into the product's own tables: `tenant_members: 3 rows`. */
async function readProductLosses(
  migration: TenancyMigration,
): Promise<string[]> {
  const completed = await migration.completedSteps();
  const done = PRODUCT_MIGRATIONS.filter(({ name }) =>
    completed.includes(name),
  );
  const kept = done.flatMap(({ creates: { tables = {} } }) =>
    Object.keys(tables).filter(table => tables[table].kept),
  );
  const limits = Object.keys(TENANT_LIMITS).filter(limit =>
    done.some(({ creates }) => creates.columns?.tenants?.includes(limit)),
  );
  const losses: string[] = [];
  for (const [what, from] of [
    ...kept.map(table => [table, table]),
    ...limits.map(limit => [
      `${limit} of tenants`,
      `tenants where ${limit} is not null`,
    ]),
  ]) {
    const [{ rows }] = await migration.context.executor.read<{ rows: number }>(
      `select count(*)::int as rows from ${from}`,
    );
    losses.push(...(rows > 0 ? [`${what}: ${formatThings(rows, 'row')}`] : []));
  }
  return losses;
}

/** Tables that were created go with the default tenant's rows, which an adopted catalog has too. */
async function readOwnRows(context: StepContext): Promise<string[]> {
  if (
    !(await readCreatedCatalog(context)) ||
    (await adoptedEngine(context)) ||
    !(await columnExists(context.executor, 'entities', 'tenant_id'))
  ) {
    return [];
  }
  const [{ rows }] = await context.executor.read<{ rows: number }>(
    'select count(*)::int as rows from entities where tenant_id = $1',
    [DEFAULT_TENANT_ID],
  );
  return rows > 0
    ? [
        `entities: ${formatThings(
          rows,
          'row',
        )} of the default tenant, which no adopted catalog has`,
      ]
    : [];
}

async function readTenantsToDelete(executor: Executor): Promise<string[]> {
  if (!(await columnExists(executor, 'tenants', 'tenant_slug'))) {
    return [];
  }
  const tenants = await executor.read<{ slug: string }>(
    'select tenant_slug as slug from tenants where tenant_id <> $1 order by 1',
    [DEFAULT_TENANT_ID],
  );
  return tenants.length > 0
    ? [
        `tenants: ${formatThings(tenants.length, 'other tenant')} (${enumerate(
          tenants.map(({ slug }) => slug),
        )})`,
      ]
    : [];
}

/** Rows of a tenant other than the default one: by its slug, or the id of one not registered. */
interface TenantRows {
  tenant: string;
  rows: number;
}

/**
 * Counts the rows of the other tenants in a table, those with most rows first. The
 * partition of the default tenant is left out by PostgreSQL.
 */
async function readRowsOfOtherTenants(
  executor: Executor,
  table: string,
): Promise<TenantRows[]> {
  // A user's table of that name has no tenant_id.
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
function describeRows(tenants: TenantRows[]): string {
  const total = tenants.reduce((sum, { rows }) => sum + rows, 0);
  const named = tenants.map(
    ({ tenant, rows }) => `${tenant} ${formatCount(rows)}`,
  );
  return `${formatThings(total, 'row')} of ${formatThings(
    tenants.length,
    'other tenant',
  )} (${enumerate(named)})`;
}
