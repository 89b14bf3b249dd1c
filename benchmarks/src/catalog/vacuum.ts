import { type Database, withClient } from '../migration/database';

/**
 * Vacuums and analyzes everything.
 *
 * Otherwise commits wait for no disk here. Until they are written, no row counts as
 * visible to everybody: an index alone would not do for any query, and a side that was
 * vacuumed a moment too early would be slow for no reason of its own.
 *
 * @throws Error if some rows are not visible to everybody anyway
 */
export async function vacuum(database: Database): Promise<void> {
  await withClient(database, async client => {
    await client.query('checkpoint');
    await client.query('set synchronous_commit = on');
    await client.query('vacuum (analyze)');
    const { rows } = await client.query<{ names: string | null }>(
      `select string_agg(c.relname, ', ') as names
         from pg_class c join pg_stat_user_tables s on s.relid = c.oid
        where relkind = 'r' and relallvisible < relpages`,
    );
    if (rows[0].names) {
      throw new Error(
        `In ${database.name}, not all rows are visible to everybody after a ` +
          `vacuum: ${rows[0].names}`,
      );
    }
  });
}
