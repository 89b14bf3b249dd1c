import { DatabaseError } from 'pg';
import type { Reporter } from '../engine/Reporter';
import { LockNotGrantedError } from '../errors';
import { escapeLiteral } from '../schema/sql';
import { formatThings } from '../text';
import type { MigrationSession } from './MigrationSession';

/** For how long a lock is asked for again and again. */
export const LOCK_PATIENCE_MINUTES = 10;

// The pauses grow from the first to the longest: what is in the way may be a
// transaction of milliseconds, or a report of minutes.
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2000;
const GROWTH = 1.3;

/**
 * lock_not_available and deadlock_detected. Not query_canceled (57014): no statement
 * that waits for a lock has a statement_timeout, so that one which was cancelled was
 * cancelled by somebody.
 */
const LOCK_FAILURES = ['55P03', '40P01'];

/** A short transaction that asks for locks. */
export interface LockedWork {
  /** What it does, for the log: `Add the column tenant_id`. */
  title: string;
  session: Pick<MigrationSession, 'pause'>;
  reporter: Pick<Reporter, 'waiting'>;
  /**
   * The operator's `--lock-timeout`, where it is what ends the wait. Left out where
   * something else does: a longer one would change nothing then.
   */
  lockTimeoutMs?: number;
  /** In place of {@link LOCK_PATIENCE_MINUTES}, for tests. */
  patienceMs?: number;
}

/**
 * Repeats a short transaction until it gets its locks.
 *
 * Asking for a lock makes everybody queue up behind the request, so a request is
 * given up after the lock timeout, and the writers that it held up go on.
 *
 * @throws {@link LockNotGrantedError} after {@link LOCK_PATIENCE_MINUTES}
 * @throws {@link CancelledError} once somebody cancels the session's statement
 */
export async function withLockRetries<T>(
  work: LockedWork,
  attempt: () => Promise<T>,
): Promise<T> {
  const { title, session, reporter } = work;
  const patienceMs = work.patienceMs ?? LOCK_PATIENCE_MINUTES * 60_000;
  const end = performance.now() + patienceMs;
  let pauseMs = FIRST_PAUSE_MS;
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!isLockFailure(error)) {
        throw error;
      }
      if (performance.now() >= end) {
        throw notGranted(work, attempts);
      }
    }
    reporter.waiting(title, attempts);
    // Not at the same moments as what is in the way, should that be regular too.
    await session.pause(
      Math.min(pauseMs * (1 + Math.random()), LONGEST_PAUSE_MS),
    );
    pauseMs = Math.min(pauseMs * GROWTH, LONGEST_PAUSE_MS);
  }
}

/**
 * The operator's `--lock-timeout` for {@link LockedWork}, unless the wait ends sooner.
 */
export function ownTimeout(
  { lockTimeoutMs }: { lockTimeoutMs: number },
  timeoutMs: number,
): number | undefined {
  return timeoutMs < lockTimeoutMs ? undefined : lockTimeoutMs;
}

function isLockFailure(error: unknown): boolean {
  return (
    error instanceof DatabaseError && LOCK_FAILURES.includes(error.code ?? '')
  );
}

function notGranted(
  { title, lockTimeoutMs }: LockedWork,
  attempts: number,
): LockNotGrantedError {
  const advice =
    lockTimeoutMs === undefined
      ? ''
      : `, or give a longer --lock-timeout than ${lockTimeoutMs} ms, which has to ` +
        "stay below the server's deadlock_timeout";
  return new LockNotGrantedError(
    `The lock for "${title}" was not granted for ${LOCK_PATIENCE_MINUTES} minutes, in ` +
      `${formatThings(
        attempts,
        'attempt',
      )}: other transactions hold the tables ` +
      'without a pause. Look for long ones in pg_stat_activity and ' +
      `pg_prepared_xacts${advice}.`,
  );
}

/**
 * The statement that locks tables in ACCESS EXCLUSIVE mode, one after the other, and
 * fails with lock_not_available once the time for all of them together is over.
 *
 * `lock_timeout` holds for each lock. `statement_timeout` would hold for all, but a
 * statement that it has ended looks like one that somebody has cancelled. A partition
 * comes after its table, so that only somebody who uses it by itself, as no application
 * may, is waited for in addition.
 *
 * @param tables - as LOCK TABLE takes them
 */
export function lockTogether(
  tables: readonly string[],
  timeoutMs: number,
): string {
  return `do $$
declare
  give_up_at timestamptz := clock_timestamp() + interval '${timeoutMs} milliseconds';
  left_ms int;
  item text;
begin
  foreach item in array array[${tables.map(escapeLiteral).join(', ')}] loop
    left_ms := ceil(extract(epoch from give_up_at - clock_timestamp()) * 1000);
    if left_ms < 1 then
      raise exception 'The tables were not free within ${timeoutMs} ms' using errcode = 'lock_not_available';
    end if;
    perform set_config('lock_timeout', left_ms::text, true);
    execute 'lock table ' || item || ' in access exclusive mode';
  end loop;
end $$`;
}
