import { findTenantSchemas } from '../adopt/engine';
import { asLogin } from '../adopt/rights';
import type { Executor } from '../engine/Executor';
import type { StepContext } from '../engine/Step';
import { columnExists } from '../schema/lookups';
import { escapeIdentifier } from '../sql';
import { enumerate, formatThings, script } from '../text';

// The schemas of tenants' engines, and of instances of other plugins.
const OWN = '^tenant_[0-9a-f]{32}(_[A-Za-z][A-Za-z0-9-]*)?$';

const SCHEMAS = `select nspname as name, substr(nspname, 8, 32) as id
  from pg_namespace where nspname ~ $1 order by 1`;

/** The schemas of tenants in this database. */
export async function readTenantSchemas(executor: Executor): Promise<string[]> {
  const rows = await executor.read<{ name: string }>(SCHEMAS, [OWN]);
  return rows.map(({ name }) => name);
}

/** `engines and plugins of tenants: 3 schemas (…)`. */
export function describeTenantSchemas(names: string[]): string[] {
  return names.length === 0
    ? []
    : [
        `engines and plugins of tenants: ${formatThings(
          names.length,
          'schema',
        )} (${enumerate(names)})`,
      ];
}

/** Drops the schemas of one tenant in this database. */
export async function dropSchemasOf(
  context: StepContext,
  tenantId: string,
): Promise<void> {
  const { executor } = context;
  const names = await findTenantSchemas(executor, tenantId);
  await asLogin(context, async () => {
    for (const name of names) {
      await executor.execute(dropSchema(name));
    }
  });
}

/** Drops them, each in a transaction of its own: one may have hundreds of objects. */
export async function dropTenantSchemas(context: StepContext): Promise<void> {
  const { executor, reporter } = context;
  const elsewhere = await findElsewhere(context);
  await asLogin(context, async () => {
    for (const name of await readTenantSchemas(executor)) {
      await executor.execute(dropSchema(name));
    }
  });
  for (const { database, names } of elsewhere) {
    reporter.warn(
      `The database "${database}" has schemas of the same tenants. If it is this ` +
        `portal's, run there:\n${script(names.map(dropSchema))}`,
    );
  }
}

/** Locks: ACCESS EXCLUSIVE on the tables in it, which only an engine or instance uses. */
function dropSchema(name: string): string {
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
  const tenants = await executor.read<{ id: string }>(
    `select replace(tenant_id::text, '-', '') as id from tenants`,
  );
  const ids = new Set(tenants.map(({ id }) => id));
  const databases = await executor.read<{ name: string }>(
    `select datname as name from pg_database
      where datallowconn and not datistemplate and datname <> current_database()
        and has_database_privilege(datname, 'connect') order by 1`,
  );
  const found: { database: string; names: string[] }[] = [];
  for (const { name: database } of databases) {
    try {
      const session = await context.openSession(database);
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
