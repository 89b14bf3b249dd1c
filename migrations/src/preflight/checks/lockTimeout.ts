import { failure, ok } from '../Finding';
import type { PreflightCheck } from '../PreflightCheck';

/**
 * Our waits for locks end before PostgreSQL looks for deadlocks: it may end any of
 * the transactions that it finds in one, and that may be the application's.
 */
export const lockTimeout: PreflightCheck = {
  name: 'lock timeout',
  scope: 'server',
  async run({ executor, settings }) {
    const [{ deadlockMs }] = await executor.read<{ deadlockMs: number }>(
      `select setting::int as "deadlockMs" from pg_settings
        where name = 'deadlock_timeout'`,
    );
    const ours = settings.lockTimeoutMs;
    return [
      ours > 0 && ours < deadlockMs
        ? ok(
            `Waits for locks end after ${ours} ms, before deadlock_timeout (${deadlockMs} ms).`,
          )
        : failure(
            `The lock timeout is ${ours} ms and deadlock_timeout is ${deadlockMs} ms: ` +
              'PostgreSQL could end a transaction of the application to resolve a ' +
              'deadlock with the migration.',
            {
              advice: `Give a --lock-timeout from 1 to ${deadlockMs - 1}.`,
            },
          ),
    ];
  },
};
