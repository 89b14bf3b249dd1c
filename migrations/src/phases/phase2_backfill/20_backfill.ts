import { walkBlocks } from '../../copy/walkBlocks';
import type { Walk } from '../../copy/walkBlocks';
import type { Step, StepContext } from '../../engine/Step';
import type { Progress } from '../../Reporter';
import { DEFAULT_TENANT_ID, TENANT_TABLES } from '../../schema/tables';
import type { TenantTable } from '../../schema/tables';
import { limitWaits, withLockRetries } from '../../session/lockRetries';
import { checkCounts } from './checkCounts';

/**
 * Sets the default tenant in every row without one, and checks the counts.
 *
 * The undo keeps the values; the undo of phase 1 drops the column.
 */
export const backfill: Step = {
  name: '2_20_backfill',
  title: 'Fill tenant_id in the rows that have none',
  live: true,

  async up(context) {
    for (const table of TENANT_TABLES) {
      await walkBlocks(context, backfillOf(table, context));
    }
    await checkCounts(context);
  },

  async down({ executor, state }) {
    for (const table of TENANT_TABLES) {
      await executor.execute(state.forget(cursorKey(table)));
    }
  },
};

// By statistics from before the backfill all rows lack a tenant, so the planner would scan
// the table for each batch instead of the temporary index.
const USE_INDEX = 'set local enable_seqscan = off';

/** The state key of a table's cursor. */
function cursorKey(table: TenantTable): string {
  return `phase2.cursor.${table}`;
}

/**
 * How tenant_id is filled in the rows of one table, while an application writes to it.
 *
 * It walks through the blocks that the table has at the start (later rows have the default). A
 * batch that has to wait for a row gives up and lets its rows go before the deadlock_timeout of
 * a session that waits for them, and tries again. Rows that another transaction moves meanwhile
 * are left to the end.
 *
 * A REPEATABLE READ transaction that began before a row was filled, and then changes it,
 * fails with 40001 (serialization_failure), as after any concurrent update, and must be
 * retried.
 */
function backfillOf(table: TenantTable, context: StepContext): Walk {
  return {
    title: `Fill ${table}`,
    table,
    stateKey: cursorKey(table),
    batch: range => fillStatement(table, range),
    rest: progress => fillRest(context, table, progress),
  };
}

// What keeps a row from being filled, such as a trigger of a moment ago, does so each time.
const MOST_IDLE = 100;

/** Fills what the walk has left, by the temporary index. */
async function fillRest(
  context: StepContext,
  table: TenantTable,
  progress: Progress,
): Promise<void> {
  const { executor, settings } = context;
  const { session } = executor;
  const missing = `select ctid from ${table} where tenant_id is null limit ${settings.batchSize}`;
  const isLeft = async () =>
    (await session.query(`${USE_INDEX};\n${missing}`)).length > 0;
  for (let idle = 0; idle < MOST_IDLE && (await isLeft()); idle += 1) {
    const [{ done }] = await withLockRetries(
      context,
      { title: `Fill ${table}`, tables: [table], mode: 'rows' },
      timeoutMs =>
        session.queryAtOnce<{ done: number }>([
          limitWaits(timeoutMs),
          fillStatement(table, `ctid = any (array(${missing}))`),
        ]),
    );
    progress.advance(done);
    if (done > 0) {
      idle = 0;
    }
  }
}

function fillStatement(table: TenantTable, rows: string): string {
  return `${USE_INDEX};
with filled as (
  update ${table} set tenant_id = '${DEFAULT_TENANT_ID}'
   where tenant_id is null and ${rows} returning tenant_id
) select count(tenant_id)::int as done from filled`;
}
