import { limitWaits, withLockRetries } from '../session/lockRetries';
import type { MigrationSession } from '../session/MigrationSession';
import type { StepContext } from '../engine/Step';
import { escapeIdentifier } from '../sql';
import { insertInto, ofTenant, writtenColumns } from './TableCopy';
import type { TableCopy } from './TableCopy';

/** The progress of a table's copy, stored with each batch. */
interface Cursor {
  /** The file of the table; VACUUM FULL and CLUSTER change it. */
  file: number;
  /** The first block that is not copied yet. */
  next: number;
  /** Blocks from here on did not exist when the change log began. */
  end: number;
}

/** The file to copy, its blocks, and about how many rows it has. */
interface Size {
  file: number;
  end: number;
  rows: number;
}

const SIZE = `
  select pg_relation_filenode(c.oid)::bigint::float8 as file,
         (pg_relation_size(c.oid) / current_setting('block_size')::int)::float8 as end,
         greatest(c.reltuples, 0)::float8 as rows
    from pg_class c where c.oid = to_regclass(quote_ident($1))`;

/** The state key of the progress of a copy into a table. */
export function cursorKey(into: string): string {
  return `copy:${into}`;
}

/**
 * Copies the rows of a table in ranges of blocks while the application writes.
 *
 * The change log must run before it begins. A row that changes, or moves to another block,
 * during the copy may be copied in an old version, twice or not at all; its key is in the
 * log, and the replay corrects it. Every unchanged row is copied once, because each batch
 * commits together with its cursor.
 */
export class BulkCopy {
  constructor(
    private readonly context: StepContext,
    private readonly copy: TableCopy,
    /** The table that gets the rows: a partition, which saves routing them. */
    private readonly into: string,
  ) {}

  /** The first batch, for a dry run. */
  async script(): Promise<string[]> {
    const [size] = await this.context.executor.read<Size>(SIZE, [
      this.copy.source,
    ]);
    const step = this.blocksPerBatch(size);
    return [
      `-- Blocks 0 to ${size.end}, ${step} in a batch.\n${this.insertRows(
        inBlocks(0, step),
      )}`,
    ];
  }

  async run(session: MigrationSession): Promise<void> {
    const size = await this.measure(session);
    let cursor = await this.begin(session, size);
    const step = this.blocksPerBatch(size);
    const progress = this.context.reporter.progress(
      this.title(),
      Math.round((size.rows * (cursor.end - cursor.next)) / (cursor.end || 1)),
    );
    while (cursor.next < cursor.end) {
      const { copied, advanced } = await this.batch(session, cursor, step);
      progress.advance(copied);
      cursor = advanced;
    }
    progress.finish();
  }

  private async batch(
    session: MigrationSession,
    cursor: Cursor,
    step: number,
  ): Promise<{ copied: number; advanced: Cursor }> {
    const { state, reporter, settings } = this.context;
    const advanced = { ...cursor, next: cursor.next + step };
    const title = this.title();
    return withLockRetries(
      {
        title,
        session,
        reporter,
        tables: [escapeIdentifier(this.copy.source)],
        mode: 'rows',
        maxPauseMs: settings.maxPauseMs,
      },
      timeoutMs =>
        // ACCESS SHARE conflicts only with ACCESS EXCLUSIVE, so no rewrite can change the
        // table's blocks before the batch commits.
        session.transaction('begin', async () => {
          await session.query(limitWaits(timeoutMs));
          await session.query(
            `lock table ${escapeIdentifier(
              this.copy.source,
            )} in access share mode`,
          );
          const { file, end } = await this.measure(session);
          if (file !== cursor.file) {
            return {
              copied: 0,
              advanced: await this.restart(session, file, end),
            };
          }
          const range = inBlocks(
            cursor.next,
            Math.min(advanced.next, cursor.end),
          );
          const [{ copied }] = await session.query<{ copied: number }>(
            `with copied as (${this.insertRows(range)} returning 1)
           select count(*)::int as copied from copied`,
          );
          await session.query(state.put(this.stateKey(), advanced));
          return { copied, advanced };
        }),
    );
  }

  /** Continues where an earlier run was stopped. */
  private async begin(
    session: MigrationSession,
    { file, end }: { file: number; end: number },
  ): Promise<Cursor> {
    const stored = await this.context.state.get<Cursor>(this.stateKey());
    if (stored && stored.file === file) {
      return stored;
    }
    return session.transaction('begin', () => this.restart(session, file, end));
  }

  /** Starts again: block numbers of another file do not tell which rows were copied. */
  private async restart(
    session: MigrationSession,
    file: number,
    end: number,
  ): Promise<Cursor> {
    const cursor = { file, next: 0, end };
    const into = escapeIdentifier(this.into);
    // ACCESS EXCLUSIVE on a copy that no session uses yet.
    await session.query(`truncate ${into}`);
    await session.query(this.context.state.put(this.stateKey(), cursor));
    return cursor;
  }

  private insertRows(range: string): string {
    const { copy } = this;
    const columns = writtenColumns(copy).map(column => `s.${column}`);
    // A row that has moved may come twice; its key is in the log. Entities have a unique
    // key that catches it, the others only if their indexes exist already.
    const conflict = ' on conflict do nothing';
    return `${insertInto(copy, this.into)}
select ${columns.join(', ')}
  from ${escapeIdentifier(copy.source)} s
 where ${ofTenant(copy, 's')} and ${range}${conflict}`;
  }

  private async measure(session: MigrationSession): Promise<Size> {
    const [size] = await session.query<Size>(SIZE, [this.copy.source]);
    return size;
  }

  private title(): string {
    return `Copy ${this.copy.source}`;
  }

  private blocksPerBatch({ end, rows }: Size): number {
    const rowsPerBlock = Math.max(rows / Math.max(end, 1), 1);
    return Math.max(
      1,
      Math.round(this.context.settings.batchSize / rowsPerBlock),
    );
  }

  private stateKey(): string {
    return cursorKey(this.into);
  }
}

function inBlocks(from: number, to: number): string {
  return `s.ctid >= '(${from},0)' and s.ctid < '(${to},0)'`;
}
