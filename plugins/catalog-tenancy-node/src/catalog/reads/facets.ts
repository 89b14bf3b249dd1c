import type { Knex } from 'knex';
import type { TenantScope } from '../../database';
import { readFilter, storedKeys } from '../predicates';
import type { FacetsQuery } from '../CatalogStore';
import { matchingIds } from './conditionSql';

/**
 * How many of the entities have a value, as `key`, `value` and `count`, in the order of
 * both.
 *
 * @throws `InputError` for a filter that has no meaning
 */
export function selectFacets(
  scope: TenantScope,
  { facets, filter }: FacetsQuery,
): Knex.QueryBuilder {
  const keys = [...new Set(facets.flatMap(storedKeys))];
  const values = scope
    .table('entity_search', 's')
    .whereRaw('s.key = any (?::text[])', [keys])
    .whereNotNull('s.original_value')
    .groupBy('s.key', 's.original_value')
    .orderBy(['s.key', 's.original_value'])
    .select(
      's.key',
      's.original_value as value',
      scope.knex.raw('count(*)::int as count'),
    );
  return filter === undefined
    ? values
    : values.whereRaw('s.entity_id in ?', [
        matchingIds(scope, readFilter(filter)),
      ]);
}
