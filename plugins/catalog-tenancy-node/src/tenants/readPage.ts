import type { Knex } from 'knex';
import type { TenancyPool } from '../pool/TenancyPool';

/**
 * A page of rows and their total number, by a second statement only where the page does not show
 * it.
 *
 * @param matching - all rows
 * @param select - adds the columns and an order
 */
export async function readPage<TRow extends object>(
  pool: Pick<TenancyPool, 'query'>,
  { limit, offset }: { limit: number; offset: number },
  matching: (knex: Knex) => Knex.QueryBuilder,
  select: (rows: Knex.QueryBuilder, knex: Knex) => Knex.QueryBuilder,
): Promise<{ items: TRow[]; totalItems: number }> {
  const items = await pool.query<TRow>(knex =>
    select(matching(knex), knex).limit(limit).offset(offset),
  );
  const showsTheEnd = items.length > 0 || offset === 0;
  if (showsTheEnd && items.length < limit) {
    return { items, totalItems: offset + items.length };
  }
  const [{ count }] = await pool.query<{ count: string }>(knex =>
    matching(knex).count({ count: '*' }),
  );
  return { items, totalItems: Number(count) };
}
