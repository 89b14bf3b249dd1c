import type { Knex } from 'knex';
import { columnKey } from './entityColumns';
import type { ConditionContext } from './fieldCondition';
import { searchRows } from './searchRows';
import { isStorable, MAX_KEY_LENGTH } from './values';

/**
 * By what the entity `e` is ordered for a key in any case, or null for what comes
 * last: its value there in lower case; the first of several in that order.
 *
 * The stock catalog returns an entity with several values several times.
 */
export function orderValue(
  { scope, text }: ConditionContext,
  anyCaseKey: string,
  order: 'asc' | 'desc',
): Knex.Raw {
  const { knex } = scope;
  const key = anyCaseKey.toLowerCase();
  if (key.length > MAX_KEY_LENGTH || !isStorable(key)) {
    return knex.raw('null::text');
  }
  const column = columnKey(scope, text, key);
  if (column) {
    return knex.raw('(?) collate "default"', [text.bounded(column.text)]);
  }
  const value = text.bounded(text.ofJson(knex.raw('found.node')));
  return knex.raw(
    `(select ${
      order === 'asc' ? 'min' : 'max'
    }((?) collate "default") from ? found (node))`,
    [value, searchRows(knex, text, key)],
  );
}
