import { resolvePackagePath } from '@backstage/backend-plugin-api';
import createKnex, { type Knex } from 'knex';
import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 200;

/**
 * Migrates the schema of the database. Call it within {@link withSchemaLock}, so that only one
 * backend migrates at a time.
 */
export async function migrate(knex: Knex): Promise<void> {
  const config = {
    directory: resolvePackagePath(
      'backstage-plugin-mockup-backend',
      'migrations',
    ),
  };
  // Knex's lock is a row that a killed process leaves behind.
  await knex.migrate.forceFreeMigrationsLock(config);
  await knex.migrate.latest(config);
}

/**
 * Runs `work` on the schema while no other backend does; backends that start at the same time
 * take turns.
 *
 * Holds an advisory lock in an idle transaction on a separate connection, because migrations
 * need several transactions. Others poll for the lock: a session that waits within a statement
 * holds a snapshot, for which CREATE INDEX CONCURRENTLY would wait.
 */
export async function withSchemaLock<T>(
  knex: Knex,
  work: () => Promise<T>,
): Promise<T> {
  const holder = createKnex({
    ...knex.client.config,
    pool: { ...knex.client.config.pool, min: 0, max: 1 },
  });
  try {
    for (;;) {
      const granted = await holder.transaction(
        async transaction => {
          await transaction.raw(
            'set local idle_in_transaction_session_timeout = 0',
          );
          const { rows } = await transaction.raw(
            `select pg_try_advisory_xact_lock(
               hashtext('backstage-plugin-mockup-backend schema')) as mine`,
          );
          return rows[0].mine ? { result: await work() } : undefined;
        },
        // At stricter levels, an idle transaction also holds a snapshot.
        { isolationLevel: 'read committed' },
      );
      if (granted) {
        return granted.result;
      }
      await delay(POLL_MS);
    }
  } finally {
    await holder.destroy();
  }
}
