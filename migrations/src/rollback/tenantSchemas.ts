import { asLogin } from '../adopt/rights';
import type { Executor } from '../engine/Executor';
import type { StepContext } from '../engine/Step';
import { RefusedError } from '../errors';
import { refuseDependentsOfSchemas } from '../schema/dependents';
import { columnExists } from '../schema/lookups';
import { refuseWithoutRights } from '../schema/rights';
import { escapeIdentifier } from '../sql';
import { script } from '../text';

// The schemas of tenants' engines, of their template in earlier versions, and of instances of
// other plugins.
const OWN = '^tenant_([0-9a-f]{32}|template)(_[A-Za-z][A-Za-z0-9-]*)?$';

const SCHEMAS = `select nspname as name, substr(nspname, 8, 32) as id
  from pg_namespace where nspname ~ $1 order by 1`;

// Ours have no policies.
const REGISTRIES = `select n.nspname as schema, c.relname as table, format('%I.tenants', n.nspname) as tenants,
       has_schema_privilege(n.oid, 'usage') and has_table_privilege(c.oid, 'select') as "isReadable"
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace and n.nspname <> $1
  join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id' and a.atttypid = 'uuid'::regtype
  join pg_attribute s on s.attrelid = c.oid and s.attname = 'tenant_slug'
 where c.relname = 'tenants' and c.relkind = 'r' and not row_security_active(c.oid)`;

export interface Registry {
  schema: string;
  table: string;
  /** The table as SQL. */
  tenants: string;
  isReadable: boolean;
}

/** The other registries in this database. */
export function readRegistries({
  executor,
  settings,
}: Pick<StepContext, 'executor' | 'settings'>): Promise<Registry[]> {
  return executor.read<Registry>(REGISTRIES, [settings.schema]);
}

/**
 * The other registries in this database that the login may read, by the ids of their tenants as the
 * names of schemas have them: what engines and plugins keep for these is not this registry's.
 *
 * @param needsAll - for a command that finds the mockups of a tenant by its id
 * @throws {@link RefusedError} for a registry that the login may not read, if it needs all
 */
export async function readTenantsOfOthers(
  { executor, settings }: Pick<StepContext, 'executor' | 'settings'>,
  needsAll: boolean,
): Promise<Map<string, string>> {
  const tenants = new Map<string, string>();
  // The search path ignores a schema that the login may not use.
  await asLogin({ executor }, async () => {
    const registries = await readRegistries({ executor, settings });
    if (needsAll) {
      const rights = ['select'];
      await refuseWithoutRights(executor, {
        tables: registries.map(each => ({ ...each, rights })),
      });
    }
    for (const registry of registries.filter(each => each.isReadable)) {
      for (const id of await readTenantIds(executor, registry.tenants)) {
        tenants.set(id, registry.tenants);
      }
    }
  });
  return tenants;
}

/**
 * @throws {@link RefusedError} for a tenant whose id a tenant of another registry in this database
 *   has too, as all default tenants have the same: the mockups of both are found by it
 */
export async function refuseSharedId(
  context: Pick<StepContext, 'executor' | 'settings'>,
  tenantId: string,
): Promise<void> {
  const others = await readTenantsOfOthers(context, true);
  const registry = others.get(tenantId.replaceAll('-', ''));
  if (registry) {
    throw new RefusedError(
      `${registry} in the same database has a tenant with the same id, ${tenantId}, and mockups of both can't be told apart. Give one of the two portals a database of its own.`,
    );
  }
}

/** The schemas of tenants in this database. */
export async function readTenantSchemas(
  context: Pick<StepContext, 'executor' | 'settings'>,
): Promise<string[]> {
  const others = await readTenantsOfOthers(context, false);
  const rows = await context.executor.read<{ name: string; id: string }>(
    SCHEMAS,
    [OWN],
  );
  return rows.filter(({ id }) => !others.has(id)).map(({ name }) => name);
}

/** The ids of the tenants of a registry, as the names of schemas have them. */
async function readTenantIds(
  executor: Executor,
  tenants: string,
): Promise<string[]> {
  const rows = await executor.read<{ id: string }>(
    `select replace(tenant_id::text, '-', '') as id from ${tenants}`,
  );
  return rows.map(({ id }) => id);
}

/** Drops the schemas of all tenants in this database. */
export async function dropTenantSchemas(context: StepContext): Promise<void> {
  const { executor, reporter } = context;
  const elsewhere = await findElsewhere(context);
  const names = await readTenantSchemas(context);
  await asLogin(context, () => dropSchemas(executor, names));
  for (const found of elsewhere) {
    reporter.warn(
      `The database "${found.database}" has schemas of the same tenants. If it is this ` +
        `portal's, run there:\n${script(found.names.map(dropStatement))}`,
    );
  }
}

/**
 * Drops schemas of engines and instances, each in a transaction of its own: one may have hundreds
 * of objects.
 *
 * @throws {@link RefusedError} for what is outside of them and depends on their tables
 */
export async function dropSchemas(
  executor: Executor,
  names: string[],
): Promise<void> {
  await refuseDependentsOfSchemas(executor, names);
  for (const name of names) {
    const tables = await executor.read<{ table: string }>(
      `select format('%I.%I', $1::text, relname) as table from pg_class
        where relnamespace = (select oid from pg_namespace where nspname = $1)
          and relkind in ('r', 'p') and has_table_privilege(oid, 'truncate') order by relname`,
      [name],
    );
    await executor.transaction({
      title: `Drop the schema "${name}"`,
      locks:
        'ACCESS EXCLUSIVE on the tables in it, which only an engine or instance uses.',
      tables: tables.map(({ table }) => table),
      statements: [dropStatement(name)],
    });
  }
}

function dropStatement(name: string): string {
  return `drop schema if exists ${escapeIdentifier(name)} cascade`;
}

/** The schemas of the registry's tenants in other databases that the login may connect to. */
async function findElsewhere(
  context: StepContext,
): Promise<{ database: string; names: string[] }[]> {
  const { executor, reporter } = context;
  if (!(await columnExists(executor, 'tenants', 'tenant_slug'))) {
    return [];
  }
  const ids = new Set(await readTenantIds(executor, 'tenants'));
  const databases = await executor.read<{ name: string }>(
    `select datname as name from pg_database
      where datallowconn and not datistemplate and datname <> current_database()
        and has_database_privilege(datname, 'connect') order by 1`,
  );
  const found: { database: string; names: string[] }[] = [];
  for (const { name: database } of databases) {
    try {
      const session = await context.openSession(context.connectionTo(database));
      try {
        const rows = await session.query<{ name: string; id: string }>(
          SCHEMAS,
          [OWN],
        );
        const ours = rows.filter(({ id }) => ids.has(id));
        found.push({ database, names: ours.map(({ name }) => name) });
      } finally {
        await session.close();
      }
    } catch (error) {
      reporter.warn(
        `The database "${database}" could not be searched for schemas of tenants: ${
          (error as Error).message
        }`,
      );
    }
  }
  return found.filter(({ names }) => names.length > 0);
}
