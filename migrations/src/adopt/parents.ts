import type { StepContext } from '../engine/Step';
import { relationExists } from '../schema/lookups';
import { escapeLiteral } from '../sql';
import { ownTimeout, withLockRetries } from '../session/lockRetries';
import { waitForOlderTransactions } from '../engine/olderTransactions';
import { patienceMs } from '../session/tableSize';
import { engineTable } from './engine';
import type { Engine } from './engine';
import { PARENTS } from './names';
import { settleParents } from './reconcile';
import { adoptedEngine } from './state';

const TITLE = 'Carry the edges between entities';
const ROWS = 500;

const SCRIPT = `do $$
declare
  after bigint := 0;
begin
  loop
    after := adoption_copy_parents(after, ${ROWS});
    exit when after is null;
    commit;
  end loop;
end $$`;

/**
 * Fills the table of edges between entities from the engine's, for the default tenant, while
 * the engine goes on. It does nothing where no catalog is adopted, or where the table is not
 * there.
 *
 * The triggers write to the table from the moment in which it is there, and who has written
 * before is waited for. The rest is taken in ranges, each edge under a lock of the engine's row: who deletes that waits, and then finds ours.
 */
export async function fillParents(
  context: StepContext,
  adopted?: Engine,
): Promise<void> {
  const { executor } = context;
  const engine = adopted ?? (await adoptedEngine(context));
  if (
    !engine ||
    (!executor.dryRun && !(await relationExists(executor, PARENTS)))
  ) {
    return;
  }
  await waitForWriters(context, engine);
  await executor.work({
    title: `${TITLE}. FOR KEY SHARE on ${ROWS} rows of ${engineTable(
      engine,
      'refresh_state_references',
    )} at a time, for milliseconds`,
    script: [SCRIPT],
    async run(session) {
      const timeoutMs = Math.min(
        context.settings.lockTimeoutMs,
        await patienceMs(session),
      );
      const work = {
        title: TITLE,
        session,
        reporter: context.reporter,
        lockTimeoutMs: ownTimeout(context.settings, timeoutMs),
      };
      let after: string | null = '0';
      while (after !== null) {
        const from: string = after;
        after = await withLockRetries(work, async () => {
          const rows = await session.query<{ last: string | null }>(
            [
              'set local synchronous_commit = off',
              `set local lock_timeout = ${timeoutMs}`,
              `select adoption_copy_parents(${from}, ${ROWS})::text as last`,
            ].join(';\n'),
          );
          return rows[0].last;
        });
      }
    },
  });
  await settleParents(context, engine);
}

/**
 * Waits for the transactions that may have written edges before the table was there:
 * their triggers found none, and nobody sees yet what they have written.
 */
async function waitForWriters(
  context: StepContext,
  engine: Engine,
): Promise<void> {
  const name = engineTable(engine, 'refresh_state_references');
  const why = 'they may have written edges that nobody sees yet.';
  const writers = `from pg_locks
  where locktype = 'relation' and mode = 'RowExclusiveLock' and granted
    and database = (select oid from pg_database where datname = current_database())
    and relation = to_regclass(${escapeLiteral(name)})`;
  await waitForOlderTransactions(context, {
    title: `Wait for transactions that have written to ${name}: ${why}`,
    script: [
      `do $$
declare
  writers text[] := array(select virtualtransaction ${writers});
begin
  while exists (select ${writers} and virtualtransaction = any (writers)) loop
    perform pg_sleep(0.1);
  end loop;
end $$`,
    ],
    waiting: processes =>
      `Waiting for the transactions of the processes ${processes}: ${why}`,
    async find(session) {
      const rows = await session.query<{ id: string }>(
        `select virtualtransaction as id ${writers}`,
      );
      const ids = rows.map(({ id }) => escapeLiteral(id)).join(', ');
      return `select pid ${writers} and virtualtransaction = any (array[${ids}]::text[])`;
    },
  });
}
