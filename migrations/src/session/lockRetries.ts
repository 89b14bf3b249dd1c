import { DatabaseError } from 'pg';
import pRetry, { AbortError } from 'p-retry';
import { LockNotGrantedError } from '../errors';

const RETRIES = 400;

// lock_not_available, deadlock_detected, and query_canceled by statement_timeout.
const LOCK_FAILURES = ['55P03', '40P01', '57014'];

/**
 * Repeats a short transaction until it gets its locks.
 *
 * Asking for a lock makes everybody queue up behind the request, so a request is
 * given up after the lock timeout, and the writers that it held up go on. The
 * pauses grow from 50 ms to 2 s: a transaction that is in the way may be long.
 *
 * @throws {@link LockNotGrantedError} after about ten minutes
 */
export async function withLockRetries<T>(
  what: string,
  attempt: () => Promise<T>,
  onRetry?: (attempts: number) => void,
): Promise<T> {
  try {
    return await pRetry(
      async () => {
        try {
          return await attempt();
        } catch (error) {
          throw isLockFailure(error)
            ? error
            : new AbortError(error instanceof Error ? error : String(error));
        }
      },
      {
        retries: RETRIES,
        minTimeout: 50,
        maxTimeout: 2000,
        factor: 1.3,
        randomize: true,
        onFailedAttempt: error => onRetry?.(error.attemptNumber),
      },
    );
  } catch (error) {
    if (isLockFailure(error)) {
      throw new LockNotGrantedError(
        `The lock for "${what}" was not granted in ${RETRIES} attempts: other ` +
          'transactions hold the tables without a pause. Look for long ones in ' +
          'pg_stat_activity and pg_prepared_xacts, or give a longer --lock-timeout.',
      );
    }
    throw error;
  }
}

function isLockFailure(error: unknown): boolean {
  return (
    error instanceof DatabaseError && LOCK_FAILURES.includes(error.code ?? '')
  );
}
