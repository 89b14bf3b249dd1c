import { setTimeout as pause } from 'node:timers/promises';
import type { StepContext } from '../engine/Step';

const POLL_MS = 100;

// `backend_xmin` alone does not tell one snapshot from a later one of the same
// session, so it is compared with the first transaction that has not begun yet.
const NEXT_TRANSACTION = `select mod(pg_snapshot_xmax(pg_current_snapshot())::text::numeric, 4294967296)::text`;
const older = (next: string) =>
  `select pid from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid()
    and backend_type = 'client backend'
    and age(backend_xmin) > age(${next}::xid)`;

/**
 * Waits until no snapshot is older than this moment, so that every transaction
 * sees what was committed before. Nobody waits for it.
 */
export async function waitForOlderSnapshots(
  { executor, reporter }: StepContext,
  why: string,
): Promise<void> {
  await executor.work({
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
    async run(session) {
      const [{ next }] = await session.query<{ next: string }>(
        `${NEXT_TRANSACTION} as next`,
      );
      const find = () => session.query<{ pid: number }>(older(`'${next}'`));
      let sessions = await find();
      if (sessions.length > 0) {
        const pids = sessions.map(({ pid }) => pid).join(', ');
        reporter.info(
          `Waiting for the transactions of the processes ${pids}: ${why}`,
        );
      }
      while (sessions.length > 0) {
        await pause(POLL_MS);
        sessions = await find();
      }
    },
  });
}
