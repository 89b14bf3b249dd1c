import { DatabaseError } from 'pg';
import type { Reporter } from '../Reporter';
import { LockNotGrantedError } from '../errors';
import { escapeLiteral } from '../sql';
import { formatCount, formatSeconds, formatThings } from '../text';
import { LockWatch } from './LockWatch';
import type { MigrationSession } from './MigrationSession';

/** For how long {@link withLockRetries} repeats its attempts. */
export const LOCK_PATIENCE_MINUTES = 10;

// The pauses grow from the first to the longest: a lock may be held by a transaction of
// milliseconds, or by a report of minutes.
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2000;
const GROWTH = 1.3;

// Each attempt queues longer than the one before, up to --max-pause and that long ten
// times at the most. Between two attempts the application has 1.5 times as long.
const QUEUE_GROWTH = 1.6;
const LONGEST_QUEUES = 10;
const REST = 1.5;

/**
 * lock_not_available and deadlock_detected. Not query_canceled (57014): no statement
 * that waits for a lock has a statement_timeout, so 57014 means a cancel by another
 * session.
 */
const LOCK_FAILURES = ['55P03', '40P01'];

/** A short transaction that takes locks. */
export interface LockedWork {
  /** What it does, for the log: `Add the column tenant_id`. */
  title: string;
  session: Pick<MigrationSession, 'pause' | 'openAnother' | 'query'>;
  reporter: Pick<Reporter, 'waiting'>;
  /**
   * The operator's `--lock-timeout`, if it ends the wait. Left out if another timeout
   * does, for which the error must not advise a longer one.
   */
  lockTimeoutMs?: number;
  /**
   * Whether the attempts take their locks by {@link lockTogether}, and so may wait up to
   * `maxPauseMs`.
   */
  queues?: boolean;
  /** The operator's `--max-pause`; has an effect with `queues` only. */
  maxPauseMs?: number;
  /** In place of {@link LOCK_PATIENCE_MINUTES}. */
  patienceMs?: number;
}

/** How an attempt takes its locks: see {@link lockTogether}. */
export interface LockRequest {
  /** For how long, in milliseconds, sessions may wait behind it. */
  timeoutMs: number;
  /**
   * For how long, in milliseconds, it may queue for the first table: `timeoutMs`, or up to
   * `--max-pause`.
   */
  queueMs: number;
  /** Rotates the order of the tables: see {@link inTurn}. */
  turn: number;
}

/** The request of a script, which makes one attempt. */
export function longestRequest({
  lockTimeoutMs,
  maxPauseMs = 0,
}: {
  lockTimeoutMs: number;
  maxPauseMs?: number;
}): LockRequest {
  return {
    timeoutMs: lockTimeoutMs,
    queueMs: Math.max(maxPauseMs, lockTimeoutMs),
    turn: 0,
  };
}

/**
 * Repeats a short transaction until it gets its locks.
 *
 * Other sessions queue behind a waiting request, so it ends after the lock timeout and
 * lets them go on. If transactions last longer than that and overlap, no such request is
 * ever granted. With `--max-pause` each attempt waits longer than the one before, up to
 * that.
 *
 * @throws {@link LockNotGrantedError} after {@link LOCK_PATIENCE_MINUTES}; with
 *   `--max-pause`, after ten attempts of that length
 * @throws {@link CancelledError} if another session cancels the statement
 */
export async function withLockRetries<T>(
  work: LockedWork,
  attempt: (request: LockRequest) => Promise<T>,
): Promise<T> {
  const { title, session, reporter, lockTimeoutMs = 0 } = work;
  const longestMs = Math.max(grantedMs(work), lockTimeoutMs);
  const patienceMs = work.patienceMs ?? LOCK_PATIENCE_MINUTES * 60_000;
  const end = performance.now() + patienceMs;
  let pauseMs = FIRST_PAUSE_MS;
  let queueMs = lockTimeoutMs;
  let queued = 0;
  let longest = 0;
  // With --max-pause the number of full-length attempts decides, not the time.
  const isOver = () =>
    longestMs > lockTimeoutMs
      ? longest === LONGEST_QUEUES
      : performance.now() >= end;
  for (let attempts = 1; ; attempts += 1) {
    const isGranted = queueMs > lockTimeoutMs;
    const watch = isGranted
      ? await LockWatch.start(session, seen =>
          reporter.waiting(title, attempts, seen),
        )
      : undefined;
    try {
      return await attempt({
        timeoutMs: lockTimeoutMs,
        queueMs,
        turn: queued,
      });
    } catch (error) {
      if (!isLockFailure(error)) {
        throw error;
      }
      queued += isGranted ? 1 : 0;
      longest += isGranted && queueMs === longestMs ? 1 : 0;
      if (isOver()) {
        throw notGranted(work, attempts);
      }
    } finally {
      await watch?.stop();
    }
    if (!watch) {
      reporter.waiting(title, attempts);
    }
    // Random, so as not to coincide with a regular transaction each time.
    await session.pause(
      Math.max(
        Math.min(pauseMs * (1 + Math.random()), LONGEST_PAUSE_MS),
        isGranted ? REST * queueMs : 0,
      ),
    );
    pauseMs = Math.min(pauseMs * GROWTH, LONGEST_PAUSE_MS);
    queueMs = Math.min(Math.ceil(queueMs * QUEUE_GROWTH), longestMs);
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

/** The `--max-pause` of this work in milliseconds; 0 if it does not queue. */
function grantedMs({ queues = false, maxPauseMs = 0 }: LockedWork): number {
  return queues ? maxPauseMs : 0;
}

function isLockFailure(error: unknown): boolean {
  return (
    error instanceof DatabaseError && LOCK_FAILURES.includes(error.code ?? '')
  );
}

function notGranted(work: LockedWork, attempts: number): LockNotGrantedError {
  const { title, lockTimeoutMs, patienceMs } = work;
  const tried = formatThings(attempts, 'attempt');
  const look = 'Look for long ones in pg_stat_activity and pg_prepared_xacts';
  const maxPauseMs = grantedMs(work);
  if (lockTimeoutMs !== undefined && maxPauseMs > lockTimeoutMs) {
    return new LockNotGrantedError(
      `The lock for "${title}" was not granted in ${tried}, the longest of which held ` +
        `up the application for ${formatCount(
          maxPauseMs,
        )} ms, as --max-pause grants: ` +
        'transactions in the way are longer, or use the tables in several orders. ' +
        `${look}, or give a longer --max-pause.`,
    );
  }
  const patience =
    patienceMs === undefined
      ? `${LOCK_PATIENCE_MINUTES} minutes`
      : formatSeconds(patienceMs / 1000);
  return new LockNotGrantedError(
    `The lock for "${title}" was not granted for ${patience}, in ` +
      `${tried}: other transactions hold the tables without a pause. ${look}${waitLonger(
        work,
      )}.`,
  );
}

/** Names the option that makes the request wait longer. */
function waitLonger({ lockTimeoutMs, queues }: LockedWork): string {
  if (lockTimeoutMs === undefined) {
    return '';
  }
  return queues
    ? `, or let the application wait for longer: --max-pause, which is ${lockTimeoutMs} ms ` +
        'as long as none is given (like --lock-timeout), should be longer than they are'
    : `, or give a longer --lock-timeout than ${lockTimeoutMs} ms, which has to stay ` +
        "below the server's deadlock_timeout";
}

/**
 * The statement that locks tables one after the other, in ACCESS EXCLUSIVE mode or a
 * weaker one, and fails with lock_not_available unless all are granted in time.
 *
 * It sets `lock_timeout` for each lock to the time that is left. `statement_timeout` would
 * limit all of them, but raises the error of a cancelled statement. A partition comes
 * after its table, so it waits in addition only for sessions that use the partition
 * directly, which no application may.
 *
 * With `--max-pause` it may queue longer for the first table. It holds no lock meanwhile,
 * so a session behind it in the queue cannot deadlock with it: PostgreSQL reorders the
 * queue and aborts no transaction. After the first lock it takes `timeoutMs` at most for
 * the others together, and fails at once if a session in the queue of the first table
 * holds another one of them: that would be a deadlock, and the session's deadlock_timeout
 * may be nearly over.
 *
 * @param tables - as LOCK TABLE takes them, without ONLY
 */
export function lockTogether(
  tables: readonly string[],
  { timeoutMs, queueMs }: Omit<LockRequest, 'turn'>,
  mode: 'access exclusive' | 'share row exclusive' = 'access exclusive',
): string {
  const [first, ...others] = tables;
  const list = (items: readonly string[]) =>
    `array[${items.map(escapeLiteral).join(', ')}]::text[]`;
  const queue = `perform set_config('lock_timeout', '${queueMs}', true);
  lock table ${first} in ${mode} mode;
  if exists (
    select from pg_locks w join pg_locks h on h.pid = w.pid and h.database = w.database
     where not w.granted and w.relation = ${escapeLiteral(
       first,
     )}::regclass and h.granted
       and h.relation = any (select t::regclass from unnest(${list(others)}) t)
       and w.database = (select oid from pg_database where datname = current_database())) then
    raise exception 'Transactions that wait for ${first} hold another of the tables' using errcode = 'lock_not_available';
  end if;
  `;
  const isQueued = queueMs > timeoutMs;
  return `do $$
declare
  give_up_at timestamptz;
  left_ms int;
  item text;
begin
  ${
    isQueued ? queue : ''
  }give_up_at := clock_timestamp() + interval '${timeoutMs} milliseconds';
  foreach item in array ${list(isQueued ? others : tables)} loop
    left_ms := ceil(extract(epoch from give_up_at - clock_timestamp()) * 1000);
    if left_ms < 1 then
      raise exception 'The tables were not free within ${timeoutMs} ms' using errcode = 'lock_not_available';
    end if;
    perform set_config('lock_timeout', left_ms::text, true);
    execute 'lock table ' || item || ' in ${mode} mode';
  end loop;
end $$`;
}

/** Rotates the tables, so that each is the first once. */
export function inTurn<T>(tables: readonly T[], turn: number): T[] {
  const first = turn % tables.length;
  return [...tables.slice(first), ...tables.slice(0, first)];
}
