import type { StepContext } from './Step';
import { LockNotGrantedError } from '../errors';
import { escapeLiteral } from '../sql';
import { enumerate, formatSeconds } from '../text';
import { LOCK_PATIENCE_MINUTES } from '../session/lockRetries';
import type { MigrationSession } from '../session/MigrationSession';

const POLL_MS = 100;
const PATIENCE_MS = LOCK_PATIENCE_MINUTES * 60_000;

/** Transactions that must end before a step continues. */
export interface OlderTransactions {
  /** For a dry run, with the query for them. */
  title: string;
  script: string[];
  /** The message while some are open, with their processes. */
  waiting(processes: string): string;
  /** A query for the processes whose snapshots are too old. */
  find(session: MigrationSession): Promise<string>;
  /** The longest wait in milliseconds; unlimited by default. */
  patienceMs?: number;
}

/**
 * Waits for older transactions, without a lock.
 *
 * @throws {@link LockNotGrantedError} after `patienceMs`
 */
export async function waitForOlderTransactions(
  { executor, reporter }: StepContext,
  { title, script, waiting, find, patienceMs = Infinity }: OlderTransactions,
): Promise<void> {
  await executor.work({
    title,
    script,
    async run(session) {
      const query = await find(session);
      const end = performance.now() + patienceMs;
      let sessions = await session.query<{ pid: number }>(query);
      if (sessions.length > 0) {
        const processes = sessions.map(({ pid }) => pid).join(', ');
        reporter.info(waiting(processes));
      }
      while (sessions.length > 0) {
        if (performance.now() >= end) {
          throw tooLong(sessions, patienceMs);
        }
        await session.pause(POLL_MS);
        sessions = await session.query(query);
      }
    },
  });
}

function tooLong(
  sessions: { pid: number }[],
  patienceMs: number,
): LockNotGrantedError {
  return new LockNotGrantedError(
    `Transactions that have to end first were open for another ${formatSeconds(
      patienceMs / 1000,
    )}: those of the processes ${enumerate(
      sessions.map(({ pid }) => `${pid}`),
    )}. Look for them in pg_stat_activity, end them or wait for them, and run the ` +
      'command again.',
  );
}

/**
 * Waits for transactions that are open at this moment, and not for later ones. Their
 * backend_xmin may look as old, because the oldest transaction of the server determines it.
 *
 * @param which - a condition on `l`, the locks, and `a`, the activity of their sessions
 * @throws {@link LockNotGrantedError} after `patienceMs`
 */
export async function waitForTransactions(
  context: StepContext,
  options: { title: string; which: string; why: string; patienceMs?: number },
): Promise<void> {
  const { title, which, why, patienceMs = PATIENCE_MS } = options;
  const open = `select distinct l.virtualtransaction as id
    from pg_locks l join pg_stat_activity a on a.pid = l.pid
   where l.pid <> pg_backend_pid() and ${which}`;
  const stillOpen = (ids: string) =>
    `select pid from pg_locks
      where locktype = 'virtualxid' and mode = 'ExclusiveLock' and virtualxid = any (${ids})`;
  await waitForOlderTransactions(context, {
    title,
    script: [open],
    waiting: processes =>
      `Waiting for the transactions of the processes ${processes}: ${why}`,
    async find(session) {
      const ids = await session.query<{ id: string }>(open);
      return stillOpen(
        `array[${ids.map(({ id }) => escapeLiteral(id)).join(', ')}]::text[]`,
      );
    },
    patienceMs,
  });
}

// `backend_xmin` does not distinguish a snapshot from a later one of the same session, so it
// is compared with the next transaction id. Every role may see it of every session, but only
// members of pg_read_all_stats see `backend_type`.
const NEXT_TRANSACTION = `select mod(pg_snapshot_xmax(pg_current_snapshot())::text::numeric, 4294967296)::text`;
const older = (next: string) =>
  `select pid from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid()
    and usesysid is not null and coalesce(backend_type, 'client backend') = 'client backend'
    and age(backend_xmin) > age(${next}::xid)`;

/**
 * Waits until no snapshot is older than this moment, so that every transaction sees all
 * earlier commits.
 */
export async function waitForOlderSnapshots(
  context: StepContext,
  why: string,
): Promise<void> {
  await waitForOlderTransactions(context, {
    title: `Wait for transactions that began before now: ${why}`,
    script: [older(`(${NEXT_TRANSACTION})`)],
    waiting: processes =>
      `Waiting for the transactions of the processes ${processes}: ${why}`,
    async find(session) {
      const [{ next }] = await session.query<{ next: string }>(
        `${NEXT_TRANSACTION} as next`,
      );
      return older(`'${next}'`);
    },
  });
}
