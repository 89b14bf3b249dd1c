import type { Walk } from '../../copy/walkBlocks';
import type { Progress } from '../../Reporter';
import type { StepContext } from '../../engine/Step';
import { limitWaits, withLockRetries } from '../../session/lockRetries';
import type { MigrationSession } from '../../session/MigrationSession';
import { DEFAULT_TENANT_ID } from '../../schema/tables';
import type { TenantTable } from '../../schema/tables';

// By statistics from before the backfill all rows lack a tenant, so the planner would scan
// the table for each sweep instead of the temporary index.
const USE_INDEX = 'set local enable_seqscan = off';

// The setting that holds the ctids of the locked rows until the transaction ends.
const LOCKED = `current_setting('tenancy.locked_rows')::tid[]`;

/** The state key of a table's cursor. */
export function cursorKey(table: TenantTable): string {
  return `phase2.cursor.${table}`;
}

interface Filled {
  /** Rows that were found and locked. */
  locked: number;
  /** Those of them that have a tenant now. */
  done: number;
}

/**
 * How tenant_id is filled in the rows of one table, while an application writes to it.
 *
 * It walks through the blocks that the table has at the start (later rows have the default).
 * SKIP LOCKED passes over rows that other sessions hold: a batch never waits for a row while
 * it holds others, and so deadlocks with no transaction. Sweeps by the temporary index fill
 * the skipped and moved rows at the end. Rows that stay without a tenant, as by a trigger, are
 * left for the count check.
 *
 * FOR NO KEY UPDATE, the lock of an UPDATE, allows inserts of rows that reference the locked
 * ones.
 *
 * A REPEATABLE READ transaction that began before a row was filled, and then changes it,
 * fails with 40001 (serialization_failure), as after any concurrent update, and must be
 * retried.
 */
export function backfillOf(table: TenantTable, context: StepContext): Walk {
  const most = 2 * context.settings.batchSize;
  return {
    title: `Fill ${table}`,
    table,
    stateKey: cursorKey(table),
    // What blocks have beyond that, if they are fuller than others, is left to the sweep.
    batch: range =>
      fillStatement(
        table,
        `and ${range} limit ${most} for no key update skip locked`,
      ),
    rest: (session, progress) => sweep(context, session, table, progress),
  };
}

async function sweep(
  context: StepContext,
  session: MigrationSession,
  table: TenantTable,
  progress: Progress,
): Promise<void> {
  const { reporter, settings } = context;
  const fill = async (timeoutMs: number, rows: string) => {
    // In one message: no round trip while rows are locked.
    const [filled] = await session.query<Filled>(
      `${limitWaits(timeoutMs)};\n${fillStatement(table, rows)}`,
    );
    return filled;
  };
  while (await isAnyLeft(session, table)) {
    const { locked, done } = await withLockRetries(
      {
        title: `Fill ${table}`,
        session,
        reporter,
        tables: [table],
        mode: 'rows',
        maxPauseMs: settings.maxPauseMs,
      },
      async timeoutMs => {
        const free = await fill(
          timeoutMs,
          `limit ${settings.batchSize} for no key update skip locked`,
        );
        // One row, while it holds no other, so that it cannot deadlock with the transaction
        // that holds the row.
        return free.locked > 0
          ? free
          : fill(timeoutMs, 'limit 1 for no key update');
      },
    );
    progress.advance(done);
    if (locked > 0 && done === 0) {
      // A trigger or a rule reverts the update, and would do so each time.
      return;
    }
  }
}

async function isAnyLeft(
  session: MigrationSession,
  table: TenantTable,
): Promise<boolean> {
  const [{ left }] = await session.query<{ left: boolean }>(
    `${USE_INDEX};
     select exists (select from ${table} where tenant_id is null) as left`,
  );
  return left;
}

/**
 * Locks rows and fills them, in one transaction and one message.
 *
 * A separate UPDATE has a newer snapshot than the lock: after a concurrent change, the
 * locking statement returns the ctid of the new version.
 */
function fillStatement(table: TenantTable, rows: string): string {
  return `${USE_INDEX};
select set_config('tenancy.locked_rows', coalesce(array_agg(ctid), '{}')::text, true)
  from (select ctid from ${table} where tenant_id is null ${rows}) locked;
with filled as (
  update ${table} set tenant_id = '${DEFAULT_TENANT_ID}'
   where ctid = any (${LOCKED}) returning tenant_id
) select (select count(tenant_id)::int from filled) as done, cardinality(${LOCKED}) as locked`;
}
