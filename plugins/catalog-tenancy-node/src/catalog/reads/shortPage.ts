import { isOrderedKey, toTermKey } from 'backstage-catalog-tenancy-migrations';
import type { Knex } from 'knex';
import type { TenantScope } from '../../database/TenantDatabase';
import type { EntityPageQuery } from '../CatalogStore';
import { isSelective, matchingIds } from './conditionSql';
import { entitiesOfPage, orderOf, type PagePlan } from './page';

/** Beyond, it may take longer to look up the values of all matches than to plan twice. */
export const MOST_MATCHES = 500;

/**
 * The first page of a list and its total, read from all matches. Undefined if they may be many,
 * or their order values have no index by entity.
 *
 * The rows are those of `selectPage`, which walks through an order for the page, and counts by
 * another scan. PostgreSQL takes longer to plan both than to read a short list; here it plans
 * the conditions once. If more than {@link MOST_MATCHES} match, the only row has no total and no
 * entity.
 *
 * @param plan - that of the query
 */
export function shortPage(
  plan: PagePlan,
  query: EntityPageQuery,
): ((scope: TenantScope) => Knex.Raw) | undefined {
  const { sort, condition } = plan;
  return query.total &&
    !query.after &&
    isSelective(condition) &&
    (!sort || sort.keys.map(toTermKey).some(isOrderedKey))
    ? scope => selectShortPage(scope, plan, query)
    : undefined;
}

function selectShortPage(
  scope: TenantScope,
  plan: PagePlan,
  query: EntityPageQuery,
): Knex.Raw {
  const { knex } = scope;
  const order = orderOf(plan, query);
  const page = knex
    .from('matched')
    .select('entity_id', 'value')
    .orderByRaw(order)
    .limit(query.limit);
  if (query.offset !== undefined) {
    page.offset(query.offset);
  }
  return knex.raw(
    `with found as materialized ?,
          size as materialized (select count(*) <= ? as is_short from found),
          matched as materialized ?,
          page as materialized ?
     select r.*, counted.total
       from (select case when (select is_short from size) then count(distinct entity_id)::int end
                    as total from matched) counted
       left join ? r on true order by ${order}`,
    [
      matchingIds(scope, plan.condition).limit(MOST_MATCHES + 1),
      MOST_MATCHES,
      orderValues(scope, plan),
      page,
      entitiesOfPage(scope, plan),
    ],
  );
}

/** A row for each value that a found entity has at the field; none if too many are found. */
function orderValues(
  scope: TenantScope,
  { sort, pattern }: PagePlan,
): Knex.QueryBuilder {
  const { knex } = scope;
  const found = knex.from('found').whereRaw('(select is_short from size)');
  if (!sort) {
    return found.select('found.entity_id', knex.raw('null::text as value'));
  }
  const values = scope
    .table('entity_terms', 'o')
    .whereRaw('o.key = ? and o.value is not null', [toTermKey(sort.keys[0])])
    .whereRaw('o.entity_id = found.entity_id')
    .select('o.value');
  if (pattern !== undefined) {
    values.whereRaw('o.value like ?', [pattern]);
  }
  return (
    found
      // With an offset, PostgreSQL plans this by itself: joined, both would be planned for each
      // order of the join.
      .joinRaw('?', [knex.raw('cross join lateral (? offset 0) o', [values])])
      .select('found.entity_id', 'o.value')
  );
}
