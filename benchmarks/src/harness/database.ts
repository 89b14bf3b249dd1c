import { Postgres } from '@internal/postgres';
import createKnex, { type Knex } from 'knex';
import { trackStatements } from './statements';

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
