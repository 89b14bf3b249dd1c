import type { StepContext } from '../engine/Step';
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
 * Locks: the rows of a batch, until it commits. No request reads them: the tenant is deleted.
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
  // A generic plan of the foreign keys would lock the partitions of all tenants.
  await session.query('set plan_cache_mode = force_custom_plan');
  for (let rows = 1; rows > 0; ) {
    [{ rows }] = await session.query<{ rows: number }>(
      `with gone as (${statement} returning 1) select count(*)::int as rows from gone`,
    );
    progress.advance(rows);
    if (rows > 0) {
      counts[title] = (counts[title] ?? 0) + rows;
    }
  }
  await session.query('set plan_cache_mode = auto');
  progress.finish();
}
