import { STATE_TABLE } from '../../engine/MigrationState';
import type { Progress } from '../../Reporter';
import type { StepContext } from '../../engine/Step';
import { limitWaits, withLockRetries } from '../../session/lockRetries';
import type { MigrationSession } from '../../session/MigrationSession';
import { DEFAULT_TENANT_ID } from '../../schema/tables';
import type { TenantTable } from '../../schema/tables';
import { estimateRows, pageCount } from '../../session/tableSize';

// The first batch; later ones are sized by the rows that the one before found.
const FIRST_PAGES = 16;
// 128 MB, the limit for a table with few rows in its pages.
const MAX_PAGES = 16_384;

// By statistics from before the backfill all rows lack a tenant, so the planner would scan
// the table for each sweep instead of the temporary index.
const USE_INDEX = 'set local enable_seqscan = off';

// The setting that holds the ctids of the locked rows until the transaction ends.
const LOCKED = `current_setting('tenancy.locked_rows')::tid[]`;

/** The state key of a table's cursor. */
export function cursorKey(table: TenantTable): string {
  return `phase2.cursor.${table}`;
}

/** The progress of a backfill: the pages from `next` to before `end` are left. */
interface Cursor {
  next: number;
  end: number;
}

interface Batch {
  /** The rows to lock: a condition, a limit and the lock. */
  rows: string;
  timeoutMs: number;
  /** What else happens in its last statement, and its result. */
  outcome?: string;
}

interface Filled {
  /** Rows that were found and locked. */
  locked: number;
  /** Those of them that have a tenant now. */
  filled: number;
}

/**
 * Fills tenant_id in the rows of one table, while an application writes to it.
 *
 * It processes the pages that the table has at the start (later rows have the default), in
 * batches of one short transaction each. SKIP LOCKED passes over rows that other sessions
 * hold: a batch never waits for a row while it holds others, and so deadlocks with no
 * transaction. Sweeps by the temporary index fill the skipped and moved rows at the end.
 *
 * A batch and its cursor are one transaction, sent as one message: no round trip while
 * rows are locked. FOR NO KEY UPDATE, the lock of an UPDATE, allows inserts of rows that
 * reference the locked ones.
 *
 * A REPEATABLE READ transaction that began before a row was filled, and then changes it,
 * fails with 40001 (serialization_failure), as after any concurrent update, and must be
 * retried.
 */
export class Backfill {
  constructor(
    private readonly context: StepContext,
    private readonly session: MigrationSession,
    private readonly table: TenantTable,
  ) {}

  /**
   * Fills the rows from where an earlier run stopped. Rows that stay without a tenant, as
   * by a trigger, are left for the count check.
   */
  async run(): Promise<void> {
    const cursor = await this.readCursor();
    const pages = cursor.end - cursor.next;
    const progress = this.context.reporter.progress(
      `Fill ${this.table}`,
      await estimateRows(this.session, this.table, pages),
    );
    try {
      await this.pass(cursor, progress);
      await this.sweep(progress);
    } finally {
      progress.finish();
    }
  }

  private async readCursor(): Promise<Cursor> {
    const kept = await this.context.state.get<Cursor>(cursorKey(this.table));
    return kept ?? { next: 0, end: await pageCount(this.session, this.table) };
  }

  private async pass({ next, end }: Cursor, progress: Progress): Promise<void> {
    const { batchSize } = this.context.settings;
    let pages = FIRST_PAGES;
    let from = next;
    while (from < end) {
      const to = Math.min(from + pages, end);
      const batch = await this.batch(from, to, end);
      const wanted = ((to - from) * batchSize) / Math.max(batch.locked, 1);
      pages = Math.ceil(Math.min(wanted, pages * 2, MAX_PAGES));
      from = batch.next;
      progress.advance(batch.filled);
    }
  }

  /**
   * One batch. If it finds more rows than a batch may have, the cursor stays at the last
   * page that it read, or passes it if none of its rows can be filled.
   */
  private async batch(
    from: number,
    to: number,
    end: number,
  ): Promise<Filled & { next: number }> {
    const { batchSize } = this.context.settings;
    const reached = `(last::text::point)[0] + (filled = 0)::int`;
    return this.retried(timeoutMs =>
      this.fill<Filled & { next: number }>({
        rows:
          `and ctid >= '(${from},0)' and ctid < '(${to},0)' ` +
          `limit ${batchSize} for no key update skip locked`,
        timeoutMs,
        outcome: `moved as (
          insert into ${STATE_TABLE} (key, value)
          select '${cursorKey(this.table)}', jsonb_build_object('end', ${end},
                   'next', case when locked >= ${batchSize}
                             then least(${reached}, ${to}) else ${to} end)
            from tally
          on conflict (key) do update set value = excluded.value
          returning (value ->> 'next')::float8 as next
        ) select locked, filled, next from tally, moved`,
      }),
    );
  }

  private async sweep(progress: Progress): Promise<void> {
    while (await this.isAnyLeft()) {
      const { locked, filled } = await this.retried(timeoutMs =>
        this.sweepOnce(timeoutMs),
      );
      progress.advance(filled);
      if (locked > 0 && filled === 0) {
        // A trigger or a rule reverts the update, and would do so each time.
        return;
      }
    }
  }

  private async sweepOnce(timeoutMs: number): Promise<Filled> {
    const { batchSize } = this.context.settings;
    const free = await this.fill<Filled>({
      rows: `limit ${batchSize} for no key update skip locked`,
      timeoutMs,
    });
    // One row, while it holds no other, so that it cannot deadlock with the transaction
    // that holds the row.
    return free.locked > 0
      ? free
      : this.fill<Filled>({
          rows: 'limit 1 for no key update',
          timeoutMs,
        });
  }

  private async fill<Result>(batch: Batch): Promise<Result> {
    const { session, table } = this;
    const statements = fillStatements(table, batch);
    const [result] = await session.query(statements.join(';\n'));
    return result as Result;
  }

  private async isAnyLeft(): Promise<boolean> {
    const [{ left }] = await this.session.query<{ left: boolean }>(
      `${USE_INDEX};
       select exists (select from ${this.table} where tenant_id is null) as left`,
    );
    return left;
  }

  private retried<T>(attempt: (timeoutMs: number) => Promise<T>): Promise<T> {
    const { session, table, context } = this;
    const { reporter, settings } = context;
    return withLockRetries(
      {
        title: `Fill ${table}`,
        session,
        reporter,
        tables: [table],
        mode: 'rows',
        maxPauseMs: settings.maxPauseMs,
      },
      attempt,
    );
  }
}

/**
 * Locks rows and fills them, in one transaction and one message.
 *
 * A separate UPDATE has a newer snapshot than the lock: after a concurrent change, the
 * locking statement returns the ctid of the new version.
 */
export function fillStatements(
  table: TenantTable,
  { rows, timeoutMs, outcome }: Batch,
): string[] {
  return [
    limitWaits(timeoutMs),
    USE_INDEX,
    `select set_config('tenancy.locked_rows', coalesce(array_agg(ctid), '{}')::text, true)
           from (select ctid from ${table} where tenant_id is null ${rows}) locked`,
    `with filled as (
           update ${table} set tenant_id = '${DEFAULT_TENANT_ID}'
            where ctid = any (${LOCKED}) returning tenant_id
         ), tally as (
           select (select count(tenant_id)::int from filled) as filled,
                  count(*)::int as locked, max(address) as last
             from unnest(${LOCKED}) address
         )${outcome ? `, ${outcome}` : ' select locked, filled from tally'}`,
  ];
}
