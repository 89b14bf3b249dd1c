import type { Postgres } from '@internal/postgres';
import { Client } from 'pg';

/** A database of the benchmark's server. */
export interface Database {
  postgres: Postgres;
  name: string;
}

/** Works on a database as the superuser. */
export async function withClient<T>(
  { postgres, name }: Database,
  use: (client: Client) => Promise<T>,
): Promise<T> {
  const client = new Client({
    connectionString: postgres.connectionString(name),
  });
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
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

/** Works on a copy of a database that is dropped afterwards. */
export async function withCopyOf<T>(
  { postgres, name: template }: Database,
  use: (copy: Database) => Promise<T>,
): Promise<T> {
  const copy = { postgres, name: `${template}_copy` };
  const server = { postgres, name: 'postgres' };
  await runStatements(server, [
    // Files are copied as they are: the default would write all of them to the WAL.
    `create database ${copy.name} template ${template} strategy file_copy`,
  ]);
  try {
    return await use(copy);
  } finally {
    await runStatements(server, [`drop database ${copy.name} (force)`]);
  }
}

/**
 * Seconds that something takes, after a checkpoint: whatever was written before
 * would otherwise be flushed at the cost of whoever comes next.
 */
export async function secondsOf(
  database: Database,
  action: () => Promise<unknown>,
): Promise<number> {
  await runStatements(database, ['checkpoint']);
  const start = performance.now();
  await action();
  return (performance.now() - start) / 1000;
}

/** Turns autovacuum on or off, for the server as a whole. */
export async function setAutovacuum(
  postgres: Postgres,
  value: 'on' | 'off',
): Promise<void> {
  await runStatements({ postgres, name: 'postgres' }, [
    `alter system set autovacuum = ${value}`,
    'select pg_reload_conf()',
  ]);
}
