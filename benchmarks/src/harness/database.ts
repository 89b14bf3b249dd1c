import { Postgres } from '@internal/postgres';
import createKnex, { type Knex } from 'knex';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';

const SETTINGS = {
  // What runs now and then would hit one side only.
  autovacuum: 'off',
  checkpoint_timeout: '1h',
  max_wal_size: '16GB',
  // All data stays in memory.
  shared_buffers: '1GB',
};

/**
 * Starts the server that all sides of a benchmark use.
 *
 * It is a throw-away one, so that a commit does not wait for the disk unless the
 * settings say so. That wait would be the same for all sides, and so hide what they
 * differ in.
 */
export async function startPostgres(
  settings: Record<string, string> = SETTINGS,
): Promise<Postgres> {
  const postgres = await Postgres.start({
    settings: { ...settings, shared_preload_libraries: 'pg_stat_statements' },
  });
  await withKnex(postgres, 'postgres', knex => trackStatements(knex, 'none'));
  return postgres;
}

/** Runs something on a database of the server, as the superuser. */
export async function withKnex<T>(
  postgres: Postgres,
  database: string,
  action: (knex: Knex) => Promise<T>,
): Promise<T> {
  const knex = createKnex({
    client: 'pg',
    connection: postgres.connectionString(database),
  });
  try {
    return await action(knex);
  } finally {
    await knex.destroy();
  }
}

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

/**
 * Vacuums and analyzes everything.
 *
 * Otherwise commits wait for no disk here. Until they are written, no row counts as
 * visible to everybody: an index alone would not do for any query, and a side that was
 * vacuumed a moment too early would be slow for no reason of its own.
 *
 * @throws Error if some rows are not visible to everybody anyway
 */
export async function vacuum(database: Database): Promise<void> {
  await withClient(database, async client => {
    await client.query('checkpoint');
    await client.query('set synchronous_commit = on');
    await client.query('vacuum (analyze)');
    const { rows } = await client.query<{ names: string | null }>(
      `select string_agg(c.relname, ', ') as names
         from pg_class c join pg_stat_user_tables s on s.relid = c.oid
        where relkind = 'r' and relallvisible < relpages`,
    );
    if (rows[0].names) {
      throw new Error(
        `In ${database.name}, not all rows are visible to everybody after a ` +
          `vacuum: ${rows[0].names}`,
      );
    }
  });
}

// A session takes over a new setting before its next statement, once the
// signal has got there.
const RELOAD_MS = 300;

/**
 * Counts the statements that a database gets while something is done, as the
 * server sees it.
 *
 * @param knex - A superuser's client of any database of the server.
 */
export async function countStatements(
  knex: Knex,
  database: string,
  action: () => Promise<void>,
): Promise<number> {
  await knex.raw('create extension if not exists pg_stat_statements');
  await trackStatements(knex, 'top');
  try {
    await knex.raw('select pg_stat_statements_reset()');
    await action();
    const { rows } = await knex.raw(
      `select coalesce(sum(calls), 0)::integer as calls
         from pg_stat_statements(false)
         join pg_database on pg_database.oid = dbid
        where datname = ?`,
      [database],
    );
    return rows[0].calls;
  } finally {
    await trackStatements(knex, 'none');
  }
}

/**
 * Turns counting on or off. It is off while anything is measured: it would cost
 * that side most which sends most statements.
 */
export async function trackStatements(
  knex: Knex,
  track: 'top' | 'none',
): Promise<void> {
  await knex.raw(`alter system set pg_stat_statements.track = '${track}'`);
  await knex.raw('select pg_reload_conf()');
  await delay(RELOAD_MS);
}
