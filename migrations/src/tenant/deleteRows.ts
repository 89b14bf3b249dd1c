import type { Executor } from '../engine/Executor';
import type { Reporter } from '../Reporter';

export interface Deletion {
  /** As SQL. */
  table: string;
  /** Which rows, as SQL. */
  where: string;
  /** For the log and the report. */
  title: string;
}

/**
 * Deletes rows in batches, each of them a transaction.
 *
 * Locks: the rows of a batch, until it commits. They are those of a deleted tenant, which
 * nobody reads.
 *
 * @returns how many there were
 */
export async function deleteRows(
  executor: Executor,
  reporter: Reporter,
  batchSize: number,
  { table, where, title }: Deletion,
): Promise<number> {
  // An address alone would mean a row of each partition.
  const statement = `delete from ${table}
 where ${where} and ctid = any (array(
   select ctid from ${table} where ${where} limit ${batchSize}))`;
  let deleted = 0;
  const progress = reporter.progress(
    `Delete rows of ${title}`,
    await countRows(executor, table, where),
  );
  const { session } = executor;
  // A generic plan of the foreign keys would lock the partitions of all tenants.
  await session.query('set plan_cache_mode = force_custom_plan');
  for (let rows = 1; rows > 0; deleted += rows) {
    [{ rows }] = await session.query<{ rows: number }>(
      `with gone as (${statement} returning 1) select count(*)::int as rows from gone`,
    );
    progress.advance(rows);
  }
  await session.query('set plan_cache_mode = auto');
  progress.finish();
  return deleted;
}

async function countRows(
  executor: Executor,
  table: string,
  where: string,
): Promise<number> {
  const [{ rows }] = await executor.read<{ rows: number }>(
    `select count(*)::float8 as rows from ${table} where ${where}`,
  );
  return rows;
}
