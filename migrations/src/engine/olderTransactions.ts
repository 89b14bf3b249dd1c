import type { StepContext } from './Step';
import type { MigrationSession } from '../session/MigrationSession';

const POLL_MS = 100;

/** Transactions that must end before a step continues. */
export interface OlderTransactions {
  /** For a dry run, with the query for them. */
  title: string;
  script: string[];
  /** The message while some are open, with their processes. */
  waiting(processes: string): string;
  /** A query for the processes whose snapshots are too old. */
  find(session: MigrationSession): Promise<string>;
}

/** Waits for older transactions, without a lock. */
export async function waitForOlderTransactions(
  { executor, reporter }: StepContext,
  { title, script, waiting, find }: OlderTransactions,
): Promise<void> {
  await executor.work({
    title,
    script,
    async run(session) {
      const query = await find(session);
      let sessions = await session.query<{ pid: number | string }>(query);
      if (sessions.length > 0) {
        const processes = sessions.map(({ pid }) => pid).join(', ');
        reporter.info(waiting(processes));
      }
      while (sessions.length > 0) {
        await session.pause(POLL_MS);
        sessions = await session.query(query);
      }
    },
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
