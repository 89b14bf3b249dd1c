import { DatabaseError } from 'pg';
import type { Reporter } from '../Reporter';
import { LockNotGrantedError } from '../errors';
import { doBlock, escapeLiteral } from '../sql';
import { formatCount, formatSeconds, formatThings } from '../text';
import type { MigrationSession } from './MigrationSession';

/** For how long {@link withLockRetries} repeats its attempts. */
export const LOCK_PATIENCE_MINUTES = 10;

/** The default of `--max-pause`. */
export const DEFAULT_MAX_PAUSE_MS = 1000;

const FIRST_TIMEOUT_MS = 50;
const GROWTH = 1.5;

// Longer than deadlock_timeout (a second, by default), after which PostgreSQL cancels an
// autovacuum that blocks another session.
const AUTOVACUUM_TIMEOUT_MS = 5000;

// A transaction that holds some of its locks waits so long for the next one before it looks for
// a deadlock, and then longer: each wait begins at the end of the queue.
const FIRST_WAIT_MS = 10;
const WAIT_GROWTH = 4;

/**
 * lock_not_available and deadlock_detected. Not query_canceled (57014): no statement
 * that waits for a lock has a statement_timeout, so 57014 means a cancel by another
 * session.
 */
const LOCK_FAILURES = ['55P03', '40P01'];

/** The hint of lock_not_available where no other session is what an attempt failed for. */
export const LONGER_PAUSE = 'Give a longer --max-pause.';

// The locks of others that do not conflict with a lock of ours. `rows` are locks of rows.
const HARMLESS = {
  'access exclusive': [],
  exclusive: ['AccessShareLock'],
  'share row exclusive': ['AccessShareLock', 'RowShareLock'],
  rows: ['AccessShareLock'],
};

/** The mode in which a transaction locks tables, or `rows` if it locks some of their rows. */
export type LockMode = keyof typeof HARMLESS;

/** The tables in use that a transaction locks. */
export interface TableLocks {
  /** As LOCK TABLE takes them. */
  tables?: readonly string[];
  /** ACCESS EXCLUSIVE by default. */
  mode?: LockMode;
}

const nameOf = (table: string) => table.replace(/^only /, '');

/** Of a StepContext, what retries need. */
interface RetryContext {
  executor: { session: Pick<MigrationSession, 'pause' | 'query'> };
  reporter: Pick<Reporter, 'waiting'>;
  settings: { maxPauseMs: number };
}

/** A short transaction that takes locks. */
interface LockedWork extends TableLocks {
  /** What it does, for the log: `Add the column tenant_id`. */
  title: string;
  /** In place of {@link LOCK_PATIENCE_MINUTES}. */
  patienceMs?: number;
}

/**
 * Repeats a short transaction until it gets its locks.
 *
 * Other sessions queue behind a waiting request, so it ends after its lock timeout and lets
 * them go on for longer than they waited. Each attempt waits longer than the one before, up
 * to `--max-pause`: where transactions overlap all the time, only a request that is longer
 * than they are is granted.
 *
 * @param attempt - gets the lock timeout in milliseconds
 * @throws {@link LockNotGrantedError} after {@link LOCK_PATIENCE_MINUTES}
 * @throws {@link CancelledError} if another session cancels the statement
 */
export async function withLockRetries<T>(
  { executor: { session }, reporter, settings: { maxPauseMs } }: RetryContext,
  work: LockedWork,
  attempt: (timeoutMs: number) => Promise<T>,
): Promise<T> {
  const { title } = work;
  const patienceMs = work.patienceMs ?? LOCK_PATIENCE_MINUTES * 60_000;
  const end = performance.now() + patienceMs;
  let timeoutMs = Math.min(FIRST_TIMEOUT_MS, maxPauseMs);
  for (let attempts = 1; ; attempts += 1) {
    // Of an attempt that has the locks, and gives them up.
    let reason: string | undefined;
    try {
      return await attempt(timeoutMs);
    } catch (error) {
      if (!isLockFailure(error)) {
        throw error;
      }
      reason = error.hint === LONGER_PAUSE ? error.message : undefined;
    }
    const holders = reason ? [] : await findHolders(session, work);
    if (performance.now() >= end) {
      const why = reason ?? `held by ${holders.join('; ') || 'others'}`;
      throw new LockNotGrantedError(
        `The lock for "${title}" was not granted for ${formatSeconds(
          patienceMs / 1000,
        )}, in ${formatThings(attempts, 'attempt')}: ${why}. ` +
          `${reason ? 'Give' : 'End them, or give'} a longer --max-pause ` +
          `than ${formatCount(maxPauseMs)} ms.`,
      );
    }
    reporter.waiting(title, attempts, holders);
    // Random, so as not to coincide with a regular transaction each time.
    await session.pause(timeoutMs * (1 + Math.random()));
    timeoutMs = Math.min(Math.ceil(timeoutMs * GROWTH), maxPauseMs);
  }
}

function isLockFailure(error: unknown): error is DatabaseError {
  return (
    error instanceof DatabaseError && LOCK_FAILURES.includes(error.code ?? '')
  );
}

/**
 * The sessions and prepared transactions that hold what conflicts with our locks, the longest
 * transaction first. A session that locks a row also holds a lock on its table.
 */
async function findHolders(
  session: Pick<MigrationSession, 'query'>,
  { tables = [], mode = 'access exclusive' }: TableLocks,
): Promise<string[]> {
  const names = tables.map(nameOf);
  const holders = await session.query<{ holder: string }>(
    `with named as (
       select to_regclass(name) as oid from unnest($1::text[]) name),
     ours as (
       select oid from named
        union select relid from named, pg_partition_tree(oid))
     select coalesce(
              'the prepared transaction ' || quote_literal(p.gid),
              format('process %s (%s, user %s)', l.pid,
                     coalesce(nullif(a.application_name, ''), a.backend_type, 'no application_name'),
                     coalesce(a.usename, 'none'))) as holder
       from pg_locks l
       left join pg_stat_activity a on a.pid = l.pid
       left join pg_locks x on l.pid is null and x.pid is null and x.granted
         and x.locktype = 'transactionid' and x.virtualtransaction = l.virtualtransaction
       left join pg_prepared_xacts p on p.transaction = x.transactionid
      where l.locktype = 'relation' and l.granted and l.relation in (select oid from ours)
        and l.database = (select oid from pg_database where datname = current_database())
        and l.pid is distinct from pg_backend_pid() and l.mode <> all ($2::text[])
      group by 1 order by min(coalesce(a.xact_start, p.prepared)) limit 3`,
    [names, HARMLESS[mode]],
  );
  return holders.map(({ holder }) => holder);
}

/**
 * The statements that take the locks of a transaction on tables in use, at its beginning: a
 * statement that asks for a stronger lock than the transaction holds could deadlock.
 *
 * @param conditions - statements that fail unless the catalog is as it must be: run once
 *   no session can change the catalog of the tables, and before any session waits
 */
export function lockStatements(
  { tables = [], mode = 'access exclusive' }: TableLocks,
  timeoutMs: number,
  conditions: string[] = [],
): string[] {
  return [
    ...(tables.length > 0 && mode !== 'rows'
      ? [
          ...keepCatalog(tables),
          ...conditions,
          lockTogether(tables, timeoutMs, mode),
        ]
      : []),
    limitWaits(timeoutMs),
  ];
}

/**
 * The statement that keeps tables from being changed or dropped by others, for a transaction that
 * reads. It blocks no reader and no writer. Before the snapshot: a lock does not take one.
 */
export function lockForReading(tables: readonly string[]): string {
  return `lock table ${tables.join(', ')} in access share mode`;
}

const list = (names: readonly string[]) =>
  `array[${names.map(escapeLiteral).join(', ')}]::text[]`;

/** The tables that exist, in their order: an undo may find some of its own missing. */
const existing = (tables: readonly string[]) =>
  `select t from unnest(${list(tables)}) with ordinality as each (t, n)
    where to_regclass(regexp_replace(t, '^only ', '')) is not null order by n`;

/**
 * The statements that keep others from changing the catalog of tables: SHARE UPDATE EXCLUSIVE
 * until the end of the transaction, which blocks no reader and no writer.
 *
 * An autovacuum may hold a table for hours, and PostgreSQL cancels it only for a request that waits
 * longer than writers may. This lock can wait that long, and it keeps the next autovacuum off.
 */
export function keepCatalog(tables: readonly string[]): string[] {
  return [
    `set local lock_timeout = ${AUTOVACUUM_TIMEOUT_MS}`,
    doBlock(`declare
  names text := (select string_agg(t, ', ') from (${existing(tables)}) found);
begin
  if names is not null then
    execute 'lock table ' || names || ' in share update exclusive mode';
  end if;
end`),
  ];
}

/** Half of deadlock_timeout, and `timeoutMs` at most. */
const held = (timeoutMs: number) =>
  `least(${timeoutMs}, greatest((extract(epoch from current_setting('deadlock_timeout')::interval) * 500)::int, 1))`;

/**
 * The statement that limits waits of a transaction that already holds locks. It ends before
 * the deadlock_timeout of a session that waits for these: PostgreSQL never aborts one of
 * the application's for it.
 */
export function limitWaits(timeoutMs: number): string {
  return `select set_config('lock_timeout', ${held(timeoutMs)}::text, true)`;
}

/**
 * The statement that locks tables one after the other, and fails with lock_not_available
 * unless all are granted in time.
 *
 * It waits for all of them together for `timeoutMs`. While it queues for the first table it
 * holds no lock, so a session behind it in the queue cannot deadlock with it: PostgreSQL reorders
 * the queue and aborts no transaction. After the first lock it takes half of deadlock_timeout at
 * most for the others, and fails as soon as it sees that a session that waits for one of the
 * tables holds another of them: that is a deadlock, in which all writers would wait, and the
 * session's deadlock_timeout may be nearly over.
 *
 * A partition comes after its table, so it waits in addition only for sessions that use the
 * partition directly, which no application may.
 *
 * @param tables - as LOCK TABLE takes them
 */
export function lockTogether(
  tables: readonly string[],
  timeoutMs: number,
  mode: Exclude<LockMode, 'rows'> = 'access exclusive',
): string {
  const [first, ...others] = tables;
  // The limits are set for each lock: statement_timeout would limit all of them, but raises
  // the error of a cancelled statement.
  return doBlock(`declare
  ours oid[] := array(select to_regclass(t) from unnest(${list(
    tables.map(nameOf),
  )}) t);
  give_up_at timestamptz := clock_timestamp() + ${timeoutMs} * interval '1 millisecond';
  left_ms int;
  wait_ms int;
  item text;
begin
  perform set_config('lock_timeout', '${timeoutMs}', true);
  if to_regclass(${escapeLiteral(nameOf(first))}) is not null then
    lock table ${first} in ${mode} mode;
  end if;
  give_up_at := least(give_up_at, clock_timestamp() + ${held(
    timeoutMs,
  )} * interval '1 millisecond');
  for item in ${existing(others)} loop
    wait_ms := ${FIRST_WAIT_MS};
    loop
      if exists (
        select from pg_locks w join pg_locks h on h.pid = w.pid and h.database = w.database
         where not w.granted and w.relation = any (ours) and w.pid <> pg_backend_pid()
           and h.granted and h.relation = any (ours) and h.relation <> w.relation
           and w.database = (select oid from pg_database where datname = current_database())) then
        raise exception 'Transactions that wait for one of the tables hold another one' using errcode = 'lock_not_available';
      end if;
      left_ms := greatest(1, ceil(extract(epoch from give_up_at - clock_timestamp()) * 1000));
      perform set_config('lock_timeout', least(wait_ms, left_ms)::text, true);
      begin
        execute 'lock table ' || item || ' in ${mode} mode';
        exit;
      exception when lock_not_available then
        if left_ms <= wait_ms then
          raise;
        end if;
      end;
      wait_ms := wait_ms * ${WAIT_GROWTH};
    end loop;
  end loop;
end`);
}
