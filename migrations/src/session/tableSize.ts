import type { MigrationSession } from './MigrationSession';

/** How many pages a table (SQL) has now, from the size of its file. */
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
 * About how many rows so many pages of a table have, by the planner's estimate of rows
 * per page, which exists for a table that was never analysed too.
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
