import type { Progress } from '../Reporter';
import type { StepContext } from '../engine/Step';
import { limitWaits, withLockRetries } from '../session/lockRetries';
import { escapeIdentifier } from '../sql';

/** How far a walk has come, stored with each batch. */
interface Cursor {
  /** The file of the table; VACUUM FULL and CLUSTER change it. */
  file: number;
  /** The first block that is not done yet. */
  next: number;
  /** Blocks from here on did not exist when the walk began. */
  end: number;
}

/** What is done to the rows of a table, in ranges of blocks, while others write. */
export interface Walk {
  /** `Copy entities`, for the progress and for waits. */
  title: string;
  table: string;
  /** Where the cursor is kept. */
  stateKey: string;
  /**
   * The statements for the blocks of a condition; the last one returns as `done` how many rows
   * it has done.
   */
  batch(range: string): string;
  /** What is left at the end, such as rows that were passed over. */
  rest?(progress: Progress): Promise<void>;
  /** Undoes what was done: the blocks of another file do not tell which rows that were. */
  reset?: string;
}

/**
 * Walks through a table from where an earlier walk was stopped. Each batch is one transaction
 * with its cursor, so each row that stays in its block is done once.
 */
export async function walkBlocks(
  context: StepContext,
  walk: Walk,
): Promise<void> {
  await context.executor.work({
    title:
      `${walk.title}: each range of blocks of ${walk.table} in a batch. ACCESS SHARE on it, ` +
      'and the locks of rows that are changed, until the batch ends.',
    script: [walk.batch(inBlocks(0, 1))],
    run: () => runBatches(context, walk),
  });
}

async function runBatches(context: StepContext, walk: Walk): Promise<void> {
  const { executor, settings, reporter, state } = context;
  const stored = await state.get<Cursor>(walk.stateKey);
  const size = await measure(context, walk);
  let cursor =
    stored?.file === size.file
      ? stored
      : await executor.session.transaction('begin', () =>
          restart(context, walk, size),
        );
  const { rowsPerBlock } = size;
  const blocks = Math.max(Math.round(settings.batchSize / rowsPerBlock), 1);
  const progress = reporter.progress(
    walk.title,
    Math.round(rowsPerBlock * (cursor.end - cursor.next)),
  );
  try {
    while (cursor.next < cursor.end) {
      const batch = await runBatch(context, walk, cursor, blocks);
      progress.advance(batch.done);
      cursor = batch.cursor;
    }
    await walk.rest?.(progress);
  } finally {
    progress.finish();
  }
}

async function runBatch(
  context: StepContext,
  walk: Walk,
  cursor: Cursor,
  blocks: number,
): Promise<{ done: number; cursor: Cursor }> {
  const { state } = context;
  const { session } = context.executor;
  const table = escapeIdentifier(walk.table);
  const advanced = { ...cursor, next: cursor.next + blocks };
  return withLockRetries(
    context,
    { title: walk.title, tables: [table], mode: 'rows' },
    timeoutMs =>
      session.transaction('begin', async () => {
        // ACCESS SHARE conflicts only with ACCESS EXCLUSIVE, so no rewrite can change the
        // table's blocks before the batch commits.
        await session.query(
          `${limitWaits(timeoutMs)};\nlock table ${table} in access share mode`,
        );
        const size = await measure(context, walk);
        if (size.file !== cursor.file) {
          return {
            done: 0,
            cursor: await restart(context, walk, size),
          };
        }
        // In one message: rows may be locked.
        const [{ done }] = await session.query<{ done: number }>(
          `${state.put(walk.stateKey, advanced)};\n${walk.batch(
            inBlocks(cursor.next, Math.min(advanced.next, cursor.end)),
          )}`,
        );
        return { done, cursor: advanced };
      }),
  );
}

async function restart(
  { executor: { session }, state }: StepContext,
  { stateKey, reset }: Walk,
  { file, end }: Pick<Cursor, 'file' | 'end'>,
): Promise<Cursor> {
  const cursor = { file, next: 0, end };
  if (reset) {
    await session.query(reset);
  }
  await session.query(state.put(stateKey, cursor));
  return cursor;
}

interface Size extends Pick<Cursor, 'file' | 'end'> {
  rowsPerBlock: number;
}

async function measure(
  { executor: { session } }: StepContext,
  { table }: Walk,
): Promise<Size> {
  const [size] = await session.query<Size>(
    // A table that was never analysed is taken for one of short rows.
    `select pg_relation_filenode(oid)::bigint::float8 as file,
            (pg_relation_size(oid) / current_setting('block_size')::int)::float8 as end,
            case when relpages > 0 and reltuples > 0 then greatest(reltuples / relpages, 1)
                 else 50 end::float8 as "rowsPerBlock"
       from pg_class where oid = to_regclass(quote_ident($1))`,
    [table],
  );
  return size;
}

function inBlocks(from: number, to: number): string {
  return `ctid >= '(${from},0)' and ctid < '(${to},0)'`;
}
