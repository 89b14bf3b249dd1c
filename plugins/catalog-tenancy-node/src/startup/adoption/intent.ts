import { withClient } from '../withClient';
import type { CatalogDatabase } from './CatalogDatabase';

// A row in the migration's own notes, beside what its steps remember.
const NOTES = 'tenancy_migration_state';
const KEY = 'backendAdopts';

/**
 * Notes that it is the backend that adopts the catalog, because there was nothing in
 * it yet. Should that fail for a while, its engine goes on, and a backend that starts
 * then finds entities which are not adopted, as in a catalog that has been live for
 * years.
 */
export async function noteIntent(database: CatalogDatabase): Promise<void> {
  await run(
    database,
    notes => `insert into ${notes} (key, value) values ($1, 'true')
              on conflict do nothing`,
  );
}

/** Whether that is noted. */
export async function hasIntent(database: CatalogDatabase): Promise<boolean> {
  const rows = await run(
    database,
    notes => `select from ${notes} where key = $1`,
  );
  return rows > 0;
}

/** Whoever undoes the adoption later does not want the backend to repeat it. */
export async function forgetIntent(database: CatalogDatabase): Promise<void> {
  await run(database, notes => `delete from ${notes} where key = $1`);
}

/** A user who may not reach the notes has made none. */
async function run(
  { connection, schema }: CatalogDatabase,
  statement: (notes: string) => string,
): Promise<number> {
  return withClient(connection, async client => {
    const { rows } = await client.query<{ notes: string | null }>(
      `select c.oid::regclass::text as notes
         from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where n.nspname = $1 and c.relname = $2
          and has_schema_privilege(n.oid, 'usage')
          and has_table_privilege(c.oid, 'select')
          and has_table_privilege(c.oid, 'insert')
          and has_table_privilege(c.oid, 'delete')`,
      [schema, NOTES],
    );
    const [found] = rows;
    if (!found?.notes) {
      return 0;
    }
    const result = await client.query(statement(found.notes), [KEY]);
    return result.rowCount ?? 0;
  });
}
