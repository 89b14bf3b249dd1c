import type { StepContext } from '../engine/Step';
import { lockStatements, withLockRetries } from '../session/lockRetries';
import type { TableLocks } from '../session/lockRetries';
import type { Place } from './places';
import { nameOf } from './sections';
import type { FoundSection } from './sections';

/** Some rows of a table. */
interface Deletion extends Pick<FoundSection, 'schema' | 'table'> {
  /** Which, as SQL. */
  where: string;
}

/**
 * Deletes rows in batches, each of them a transaction.
 *
 * Locks: the rows of a batch, until it commits. No request reads them: the tenant is deleted. It
 * waits for others for `--max-pause` at a time.
 *
 * @param counts - gets how many there were, by `database schema.table`
 */
export async function deleteRows(
  { reporter, settings }: StepContext,
  { database, executor }: Pick<Place, 'database' | 'executor'>,
  { where, ...section }: Deletion,
  counts: Record<string, number>,
): Promise<void> {
  const table = nameOf(section);
  const title = `${database} ${table}`;
  // An address alone would mean a row of each partition.
  const statement = `delete from ${table}
 where ${where} and ctid = any (array(
   select ctid from ${table} where ${where} limit ${settings.batchSize}))`;
  const [{ total }] = await executor.read<{ total: number }>(
    `select count(*)::float8 as total from ${table} where ${where}`,
  );
  const progress = reporter.progress(`Delete rows of ${title}`, total);
  const { session } = executor;
  const locks: TableLocks = { tables: [table], mode: 'rows' };
  const deleteBatch = (timeoutMs: number) =>
    session.transaction('begin', async () => {
      await session.query(
        [
          ...lockStatements(locks, timeoutMs),
          // A generic plan of the foreign keys would lock the partitions of all tenants.
          'set local plan_cache_mode = force_custom_plan',
        ].join(';\n'),
      );
      const [{ rows }] = await session.query<{ rows: number }>(
        `with gone as (${statement} returning 1) select count(*)::int as rows from gone`,
      );
      return rows;
    });
  for (let rows = 1; rows > 0; ) {
    rows = await withLockRetries(
      { executor, reporter, settings },
      { title: `Delete rows of ${title}`, ...locks },
      deleteBatch,
    );
    progress.advance(rows);
    if (rows > 0) {
      counts[title] = (counts[title] ?? 0) + rows;
    }
  }
  progress.finish();
}
