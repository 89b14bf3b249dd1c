import { setTimeout as pause } from 'node:timers/promises';
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
  /**
   * A query for the processes whose snapshots are too old, which may be made
   * from what the session reads before.
   */
  find(session: MigrationSession): Promise<string>;
}

/** A transaction, by the process and the number that it has there. */
interface OpenTransaction {
  pid: number;
  number: string;
}

// Everybody may read pg_locks, in which each transaction has a lock on itself.
const OPEN_TRANSACTIONS = `
  select l.pid, l.virtualtransaction as number
    from pg_locks l join pg_stat_activity a using (pid)
   where l.locktype = 'virtualxid' and l.granted and l.mode = 'ExclusiveLock'
     and a.datname = current_database() and a.usesysid is not null
     and l.pid <> pg_backend_pid()`;

const STILL_OPEN = `
  select distinct o.pid from (${OPEN_TRANSACTIONS}) o
    join unnest($1::int[], $2::text[]) e (pid, number) using (pid, number)`;

interface Visibility {
  role: string;
  visible: boolean;
}

const VISIBILITY = `
  select quote_ident(current_user) as role,
         pg_has_role(current_user, 'pg_read_all_stats', 'usage') as visible`;

/**
 * Waits for older transactions. Nobody waits for it.
 *
 * Which of them have an old snapshot PostgreSQL tells members of
 * pg_read_all_stats only. Without that, all that are open now are waited for: every
 * transaction with an older snapshot is one of these.
 */
export async function waitForOlderTransactions(
  { executor, reporter }: StepContext,
  { title, script, waiting, find }: OlderTransactions,
): Promise<void> {
  await executor.work({
    title,
    script,
    async run(session) {
      const [{ role, visible }] = await session.query<Visibility>(VISIBILITY);
      const older = visible
        ? await olderSnapshots(session, await find(session))
        : await openTransactions(session);
      let processes = await older();
      if (processes.length > 0) {
        reporter.info(waiting(processes.join(', ')));
        if (!visible) {
          reporter.warn(
            `${role} may not see how old the snapshots of other logins are, so that ` +
              'every transaction that is open now is waited for. To wait for those ' +
              `alone that matter, let a superuser run "grant pg_read_all_stats to ${role}".`,
          );
        }
      }
      while (processes.length > 0) {
        await pause(POLL_MS);
        processes = await older();
      }
    },
  });
}

type FindProcesses = () => Promise<number[]>;

async function olderSnapshots(
  session: MigrationSession,
  query: string,
): Promise<FindProcesses> {
  return async () => pidsOf(await session.query(query));
}

async function openTransactions(
  session: MigrationSession,
): Promise<FindProcesses> {
  const open = await session.query<OpenTransaction>(OPEN_TRANSACTIONS);
  const values = [open.map(({ pid }) => pid), open.map(({ number }) => number)];
  return async () => pidsOf(await session.query(STILL_OPEN, values));
}

function pidsOf(rows: { pid: number }[]): number[] {
  return rows.map(({ pid }) => pid);
}

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
