import type { MigrationSession } from './MigrationSession';

/** How many pages a table (SQL) has now, whether it was ever analysed or not. */
export async function pageCount(
  session: MigrationSession,
  table: string,
): Promise<number> {
  const [{ pages }] = await session.query<{ pages: number }>(
    `select (pg_relation_size('${table}')
              / current_setting('block_size')::int)::float8 as pages`,
  );
  return pages;
}

/**
 * About how many rows so many pages of a table have. The planner knows how many
 * there are in a page, also where the table was never analysed.
 */
export async function estimateRows(
  session: MigrationSession,
  table: string,
  pages: number,
): Promise<number> {
  const [row] = await session.query<{
    'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }];
  }>(`explain (format json) select from ${table}`);
  const rows = row['QUERY PLAN'][0].Plan['Plan Rows'];
  const all = Math.max(await pageCount(session, table), 1);
  return Math.round((rows * pages) / all);
}

/**
 * For how long a lock can be waited for without any risk to the application: half
 * of the time after which the server looks for deadlocks. Whoever gives up sooner
 * is not there any more when a victim is chosen.
 */
export async function patienceMs(session: MigrationSession): Promise<number> {
  const [{ timeout }] = await session.query<{ timeout: number }>(
    `select setting::int as timeout from pg_settings
      where name = 'deadlock_timeout'`,
  );
  return Math.max(Math.floor(timeout / 2), 1);
}
