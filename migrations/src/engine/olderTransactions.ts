import type { StepContext } from './Step';

const POLL_MS = 100;

// `backend_xmin` does not distinguish a snapshot from a later one of the same session, so it
// is compared with the next transaction id. Every role may see it of every session, but only
// members of pg_read_all_stats see `backend_type`.
const older = (next: string) =>
  `select pid from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid()
    and usesysid is not null and coalesce(backend_type, 'client backend') = 'client backend'
    and age(backend_xmin) > age('${next}'::xid)`;

/**
 * Waits until no snapshot is older than this moment, so that every transaction sees all
 * earlier commits. It takes no lock.
 */
export async function waitForOlderSnapshots(
  context: StepContext,
  why: string,
): Promise<void> {
  await context.executor.work({
    title: `Wait for transactions that began before now: ${why}.`,
    script: [],
    run: () => wait(context, why),
  });
}

async function wait(
  { executor: { session }, reporter }: StepContext,
  why: string,
): Promise<void> {
  const [{ next }] = await session.query<{ next: string }>(
    'select mod(pg_snapshot_xmax(pg_current_snapshot())::text::numeric, 4294967296)::text as next',
  );
  const find = () => session.query<{ pid: number }>(older(next));
  let sessions = await find();
  if (sessions.length > 0) {
    const processes = sessions.map(({ pid }) => pid).join(', ');
    reporter.info(
      `Waiting for the transactions of the processes ${processes}: ${why}`,
    );
  }
  while (sessions.length > 0) {
    await session.pause(POLL_MS);
    sessions = await find();
  }
}
