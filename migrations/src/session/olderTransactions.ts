import type { StepContext } from '../engine/Step';
import type { MigrationSession } from './MigrationSession';

const POLL_MS = 100;

/** Transactions that have to end before a step can go on. */
export interface OlderTransactions {
  /** Printed by a dry run, in front of its script. */
  title: string;
  script: string[];
  /** What the operator is told while some are open, by their processes. */
  waiting(processes: string): string;
  /** A query for the processes whose snapshots are too old. */
  find(session: MigrationSession): Promise<string>;
}

/** Waits for older transactions. Nobody waits for it. */
export async function waitForOlderTransactions(
  { executor, reporter }: StepContext,
  { title, script, waiting, find }: OlderTransactions,
): Promise<void> {
  await executor.work({
    title,
    script,
    async run(session) {
      const query = await find(session);
      let sessions = await session.query<{ pid: number }>(query);
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

// `backend_xmin` alone does not tell one snapshot from a later one of the same
// session, so it is compared with the first transaction that has not begun yet.
// Everybody may see it of everybody, but what kind of process has it only members
// of pg_read_all_stats.
const NEXT_TRANSACTION = `select mod(pg_snapshot_xmax(pg_current_snapshot())::text::numeric, 4294967296)::text`;
const older = (next: string) =>
  `select pid from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid()
    and usesysid is not null and coalesce(backend_type, 'client backend') = 'client backend'
    and age(backend_xmin) > age(${next}::xid)`;

/**
 * Waits until no snapshot is older than this moment, so that every transaction
 * sees what was committed before.
 */
export async function waitForOlderSnapshots(
  context: StepContext,
  why: string,
): Promise<void> {
  await waitForOlderTransactions(context, {
    title: `Wait for transactions that began before now: ${why}`,
    script: [
      `do $$
declare
  next_transaction text := (${NEXT_TRANSACTION});
begin
  while exists (${older('next_transaction')}) loop
    perform pg_sleep(${POLL_MS / 1000});
    perform pg_stat_clear_snapshot();
  end loop;
end $$`,
    ],
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
