import type {
  TenantDatabase,
  TenantTable,
} from 'backstage-plugin-catalog-tenancy-node';
import type { Knex } from 'knex';

/**
 * Options of {@link assertTenantIsolation}.
 *
 * @public
 */
export interface TenantIsolationOptions {
  /** On PostgreSQL, connected as the application's user. */
  database: TenantDatabase;
  /** Two tenants with rows in the table. */
  tenants: readonly [string, string];
  /** The table that the code under test reads. */
  table: TenantTable;
  /**
   * The column whose values `read` returns; by default the entity id of the row.
   */
  column?: string;
  /**
   * Calls the code under test as one tenant, and returns the values of `column` in its results.
   */
  read(tenantId: string): Promise<readonly string[]>;
}

const ENTITY_ID: Record<TenantTable, string> = {
  entities: 'entity_id',
  relations: 'originating_entity_id',
  refresh_state: 'entity_id',
};

/**
 * Resolves if both the code under test and the database alone isolate two tenants; otherwise
 * rejects with the reason.
 *
 * It cannot pass for lack of rows: each tenant needs a row that the other does not have, and
 * the code under test has to return one. It changes nothing, and works with any test framework.
 *
 * @public
 */
export async function assertTenantIsolation(
  options: TenantIsolationOptions,
): Promise<void> {
  const [one, other] = options.tenants;
  if (one === other) {
    throw failure(options, `'${one}' is given twice, expected two tenants`);
  }
  const rows = new Map([
    [one, await valuesOf(options, one)],
    [other, await valuesOf(options, other)],
  ]);
  for (const [tenant, stranger] of [
    [one, other],
    [other, one],
  ]) {
    const foreign = rows.get(stranger)!;
    const own = [...rows.get(tenant)!].filter(value => !foreign.has(value));
    await assertDatabaseIsolates(options, tenant, stranger);
    if (own.length === 0) {
      throw failure(
        options,
        `tenant '${tenant}' has no row whose ${columnOf(options)} the other ` +
          'tenant does not have, so nothing can tell their rows apart',
      );
    }
    await assertReadIsolates(options, tenant, { all: rows.get(tenant)!, own });
  }
}

async function valuesOf(
  options: TenantIsolationOptions,
  tenant: string,
): Promise<Set<string>> {
  const column = columnOf(options);
  const rows = await options.database.query<Record<string, unknown>>(
    tenant,
    scope => scope.table(options.table).distinct(column),
  );
  if (rows.length === 0) {
    throw failure(
      options,
      `tenant '${tenant}' has no rows there, so nothing would be proven`,
    );
  }
  return new Set(rows.map(row => String(row[column])));
}

/** Tries to read, update and delete rows of another tenant, and rolls back. */
async function assertDatabaseIsolates(
  options: TenantIsolationOptions,
  tenant: string,
  stranger: string,
): Promise<void> {
  const { database, table } = options;
  const attempts: Record<string, (knex: Knex) => Knex.QueryBuilder> = {
    'a query without a predicate': knex =>
      knex(table).select('tenant_id').whereNot('tenant_id', tenant).limit(1),
    'a query for it': knex =>
      knex(table).select('tenant_id').where('tenant_id', stranger).limit(1),
    'an update of it': knex =>
      knex(table)
        .where('tenant_id', stranger)
        .update({ tenant_id: stranger })
        .returning('tenant_id'),
    'a deletion of it': knex =>
      knex(table).where('tenant_id', stranger).delete().returning('tenant_id'),
  };
  for (const [what, build] of Object.entries(attempts)) {
    const nothing = new Error('Nothing is kept');
    let reached = 0;
    await database
      .transaction(tenant, async transaction => {
        reached = (await transaction.query(build(transaction.knex))).length;
        throw nothing;
      })
      .catch(error => {
        if (error !== nothing) {
          throw error;
        }
      });
    if (reached > 0) {
      throw failure(
        options,
        `${what}, as tenant '${tenant}', reaches rows of another tenant: is ` +
          'the policy missing, or does the database user bypass it?',
      );
    }
  }
}

async function assertReadIsolates(
  options: TenantIsolationOptions,
  tenant: string,
  { all, own }: { all: Set<string>; own: string[] },
): Promise<void> {
  const found = await options.read(tenant);
  const foreign = found.filter(value => !all.has(value));
  if (foreign.length > 0) {
    throw failure(
      options,
      `read('${tenant}') returned ${foreign.length} of ${found.length} values ` +
        'that the tenant does not have',
    );
  }
  if (!found.some(value => own.includes(value))) {
    throw failure(
      options,
      `read('${tenant}') returned no row that is the tenant's alone, so ` +
        `nothing would be proven. Expected it to return ${columnOf(options)}`,
    );
  }
}

function columnOf({ table, column }: TenantIsolationOptions): string {
  return column ?? ENTITY_ID[table];
}

function failure({ table }: TenantIsolationOptions, reason: string): Error {
  return new Error(`Isolation of tenants in ${table} is not shown: ${reason}.`);
}
