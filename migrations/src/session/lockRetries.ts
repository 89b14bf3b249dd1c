import { DatabaseError } from 'pg';
import type { Reporter } from '../Reporter';
import { LockNotGrantedError } from '../errors';
import { escapeLiteral } from '../sql';
import { formatCount, formatSeconds, formatThings } from '../text';
import { LockWatch } from './LockWatch';
import type { MigrationSession } from './MigrationSession';

/** For how long a lock is asked for again and again. */
export const LOCK_PATIENCE_MINUTES = 10;

// The pauses grow from the first to the longest: what is in the way may be a
// transaction of milliseconds, or a report of minutes.
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2000;
const GROWTH = 1.3;

// What the operator has granted is used a little more with each attempt, and in full
// only so often: as much again and half is left to the application in between.
const QUEUE_GROWTH = 1.6;
const LONGEST_QUEUES = 10;
const REST = 1.5;

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
  session: Pick<MigrationSession, 'pause' | 'openAnother' | 'query'>;
  reporter: Pick<Reporter, 'waiting'>;
  /**
   * The operator's `--lock-timeout`, where it is what ends the wait. Left out where
   * something else does: a longer one would change nothing then.
   */
  lockTimeoutMs?: number;
  /**
   * Whether the attempts ask for their locks as {@link lockTogether} does, and so wait
   * longer where the operator allows it.
   */
  queues?: boolean;
  /** The operator's `--max-pause`, of which only work that `queues` makes use. */
  maxPauseMs?: number;
  /** In place of {@link LOCK_PATIENCE_MINUTES}. */
  patienceMs?: number;
}

/** How one of several attempts asks for its locks: see {@link lockTogether}. */
export interface LockRequest {
  /** For how long, in milliseconds, it may hold up others. */
  timeoutMs: number;
  /**
   * For how long, in milliseconds, it may stand in the queue for the first table. No
   * longer than `timeoutMs`, unless the operator has granted it.
   */
  queueMs: number;
  /** Which table is the first, counted on without an end. */
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
 * Asking for a lock makes everybody queue up behind the request, so a request is
 * given up after the lock timeout, and the writers that it held up go on. Where
 * transactions of theirs last longer than that and overlap, no such request is ever
 * granted. An operator may grant longer ones (`--max-pause`): each attempt then waits
 * longer than the one before it, up to that.
 *
 * @throws {@link LockNotGrantedError} after {@link LOCK_PATIENCE_MINUTES}; where longer
 *   attempts were granted, after ten of the full length
 * @throws {@link CancelledError} once somebody cancels the session's statement
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
  // Where the operator has granted a pause, how often it was taken decides.
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
    // Not at the same moments as what is in the way, should that be regular too.
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

/** How long a pause the operator has granted this work, in milliseconds. */
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

/** With which option the request itself would wait longer. */
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
 * The statement that locks tables, in ACCESS EXCLUSIVE mode or a weaker one, one after
 * the other, and fails with lock_not_available where they are not all free in time.
 *
 * `lock_timeout` holds for each lock. `statement_timeout` would hold for all, but a
 * statement that it has ended looks like one that somebody has cancelled. A partition
 * comes after its table, so that only somebody who uses it by itself, as no application
 * may, is waited for in addition.
 *
 * It may stand in the queue for the first table for longer, if the operator has granted
 * that. Nothing is locked meanwhile, so that whoever waits behind it is not waiting for
 * us: PostgreSQL resolves what would be a deadlock by letting them go first, and ends no
 * transaction. That is over with the first lock. From then on it takes `timeoutMs` at
 * most for the others together; and it gives up at once where somebody in the queue of
 * the first table holds another: they would wait for us and we for them, and PostgreSQL
 * might look at that very moment, since they may have waited for long.
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

/** The tables in another order: each is the first in its turn. */
export function inTurn<T>(tables: readonly T[], turn: number): T[] {
  const first = turn % tables.length;
  return [...tables.slice(first), ...tables.slice(0, first)];
}
