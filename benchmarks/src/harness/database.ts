import { type Postgres, withClient as withClientOf } from '@internal/postgres';
import type { Client } from 'pg';

/** PostgreSQL's settings while two sides are compared. */
export const QUIET_SETTINGS = {
  // Background work would disturb one side only.
  autovacuum: 'off',
  checkpoint_timeout: '1h',
  max_wal_size: '16GB',
  // All data stays in memory.
  shared_buffers: '1GB',
};

/** A database of the benchmark's server. */
export interface Database {
  postgres: Postgres;
  name: string;
}

/** Creates a database, empty or as a copy of another one that has no sessions. */
export async function createDatabase(
  postgres: Postgres,
  name: string,
  template?: Database,
): Promise<Database> {
  // Files are copied as they are: the default would write all of them to the log.
  const copy = template ? `template ${template.name} strategy file_copy` : '';
  await runStatements({ postgres, name: 'postgres' }, [
    `create database ${name} ${copy}`,
  ]);
  return { postgres, name };
}

/** Works on a database as the superuser. */
export async function withClient<T>(
  { postgres, name }: Database,
  use: (client: Client) => Promise<T>,
): Promise<T> {
  return withClientOf(postgres.connectionString(name), use);
}

/** Runs statements on a database, one after the other. */
export async function runStatements(
  database: Database,
  statements: string[],
): Promise<void> {
  await withClient(database, async client => {
    for (const statement of statements) {
      await client.query(statement);
    }
  });
}

/**
 * Vacuums and analyzes everything.
 *
 * @throws Error if some rows are not visible to everybody anyway, which would slow down one side
 */
export async function vacuum(database: Database): Promise<void> {
  await withClient(database, async client => {
    // No row of a transaction that is not yet on the disk counts as visible.
    await client.query('checkpoint');
    await client.query('set synchronous_commit = on');
    // By default it leaves dead rows where they are on less than a fiftieth of the pages.
    await client.query('vacuum (analyze, index_cleanup on)');
    const { rows } = await client.query<{ names: string | null }>(
      `select string_agg(c.relname, ', ') as names
         from pg_class c join pg_stat_user_tables s on s.relid = c.oid
        where relkind = 'r' and relallvisible < relpages`,
    );
    if (rows[0].names) {
      throw new Error(
        `${database.name} has invisible rows after a vacuum: ${rows[0].names}`,
      );
    }
  });
}
