import { withKnex } from '../harness/database';
import type { Database } from '../migration/database';

/**
 * Vacuums and analyzes everything, in a session of its own: a transaction that
 * another one has left open would keep all rows from being marked as visible, and
 * whoever reads them in such a database would have to look at every one.
 *
 * @throws Error if that has happened anyway
 */
export async function vacuum({ postgres, name }: Database): Promise<void> {
  await withKnex(postgres, name, async knex => {
    await knex.raw('vacuum (analyze)');
    const { rows } = await knex.raw(
      `select c.relname from pg_class c join pg_stat_user_tables s on s.relid = c.oid
        where relkind = 'r' and relallvisible < relpages`,
    );
    if (rows.length > 0) {
      const names = rows.map(({ relname }: { relname: string }) => relname);
      throw new Error(
        `In ${name}, not all rows are visible to all after a vacuum: ${names.join(
          ', ',
        )}`,
      );
    }
  });
}
