import { resolvePackagePath } from '@backstage/backend-plugin-api';
import createKnex, { type Knex } from 'knex';
import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 200;

/**
 * Brings the schema of the database up to date. Only one backend at a time may:
 * see {@link takingTurns}.
 */
export async function migrate(knex: Knex): Promise<void> {
  const config = {
    directory: resolvePackagePath(
      'backstage-plugin-mockup-backend',
      'migrations',
    ),
  };
  // Knex's lock is a row, which a process that was killed leaves behind.
  await knex.migrate.forceFreeMigrationsLock(config);
  await knex.migrate.latest(config);
}

/**
 * Does work on the schema while no other backend does: those that start at the same
 * time take turns.
 *
 * The lock is an advisory one, held by an idle transaction on a connection of its own
 * until the work is done: a migration that does not block writers needs several
 * transactions. The others ask again and again, because a session that waits within
 * a statement holds a snapshot, for which CREATE INDEX CONCURRENTLY would wait.
 */
export async function takingTurns<T>(
  knex: Knex,
  work: () => Promise<T>,
): Promise<T> {
  const holder = createKnex({
    ...knex.client.config,
    pool: { ...knex.client.config.pool, min: 0, max: 1 },
  });
  try {
    for (;;) {
      const turn = await holder.transaction(
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
        // Above it an idle transaction holds a snapshot too.
        { isolationLevel: 'read committed' },
      );
      if (turn) {
        return turn.result;
      }
      await delay(POLL_MS);
    }
  } finally {
    await holder.destroy();
  }
}
