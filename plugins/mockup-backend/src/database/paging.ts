import type { Page } from 'backstage-plugin-mockup-common';
import type { Knex } from 'knex';

/**
 * Fetches one page of a query, and counts the rest only if the page does not
 * already show how many there are. The two statements may see different states, as
 * any two pages of a list with an offset do.
 */
export async function fetchPage<TRow>(
  run: <T>(statement: Knex.QueryBuilder) => Promise<T[]>,
  matching: Knex.QueryBuilder,
  columns: Knex.Raw,
  order: { column: string; order: string }[],
  { limit, offset }: { limit: number; offset: number },
): Promise<Page<TRow>> {
  const items = await run<TRow>(
    matching.clone().select(columns).orderBy(order).limit(limit).offset(offset),
  );

  const showsTheEnd = items.length > 0 || offset === 0;
  if (showsTheEnd && items.length < limit) {
    return { items, totalItems: offset + items.length };
  }
  const [{ count }] = await run<{ count: string }>(
    matching.clone().count({ count: '*' }),
  );
  return { items, totalItems: Number(count) };
}
