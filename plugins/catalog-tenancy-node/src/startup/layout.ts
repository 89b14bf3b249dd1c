import {
  isDistributed,
  type QueryRows,
} from 'backstage-catalog-tenancy-migrations';
import type { Client } from 'pg';

/** The tables of tenants' rows. */
const TENANT_TABLES = ['entities', 'relations', 'refresh_state'];

/** The owner of the tables, which bypasses row-level security. */
export const ADMIN_ROLE = 'portal_admin';

/** The user that the migration creates for the application. */
export const APP_ROLE = 'portal_app';

/** The last phase before the cutover. */
export const LAST_PHASE = 5;

/**
 * `fresh`: no table exists; `partitioned`: those of phase 5, possibly distributed by Citus;
 * `unmigrated`: any other state.
 */
type Layout = 'fresh' | 'partitioned' | 'unmigrated';

/** Reads only PostgreSQL's system catalogs, which every user may read. */
export async function readLayout(
  client: Client,
  schema: string,
): Promise<Layout> {
  const { rows } = await client.query<{ partitioned: boolean }>(
    `select c.relkind = 'p' as partitioned
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = $1 and c.relname = any ($2)`,
    [schema, TENANT_TABLES],
  );
  if (rows.length === 0) {
    return 'fresh';
  }
  const isMigrated =
    rows.length === TENANT_TABLES.length &&
    (rows.every(({ partitioned }) => partitioned) ||
      (await isDistributed(reading(client), schema)));
  return isMigrated ? 'partitioned' : 'unmigrated';
}

/** Adapts a connection to the migration library. */
export function reading(client: Client): QueryRows {
  return async <Row extends object>(sql: string, values: unknown[]) =>
    (await client.query<Row>(sql, values)).rows;
}

/** Whether a schema has a table, whatever the user's rights on it. */
export async function hasTable(
  client: Client,
  schema: string,
  table: string,
): Promise<boolean> {
  const { rows } = await client.query(
    `select from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = $1 and c.relname = $2`,
    [schema, table],
  );
  return rows.length > 0;
}
