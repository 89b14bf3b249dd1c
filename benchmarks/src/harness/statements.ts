import { setTimeout as delay } from 'node:timers/promises';
import type { Knex } from 'knex';

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
