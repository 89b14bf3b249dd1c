import { InputError } from '@backstage/errors';
import { toTermKey } from 'backstage-catalog-tenancy-migrations';
import type { Knex } from 'knex';
import type { TenantScope } from '../../database/TenantDatabase';
import type { EntityPageQuery } from '../CatalogStore';
import {
  type Condition,
  group,
  isStorable,
  readFilter,
  storedKeys,
  term,
} from '../conditions';
import {
  holds,
  liveEntities,
  matchingCount,
  matchingIds,
} from './conditionSql';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The conditions of a page, with the stock catalog's semantics. */
export interface PagePlan {
  /** On the entity of a row. */
  condition: Condition;
  /** On the order value of a row. */
  pattern?: string;
  /** On the counted entities. */
  counted: Condition;
  sort?: { keys: string[]; direction: 'asc' | 'desc' };
}

/**
 * A page as rows of `json`, `entity_id` and `value`. With `query.total`, each row also has the
 * `total`, and an empty page has one row without an entity.
 *
 * Page and count are one statement: one round trip and one snapshot. The page's ids come from
 * `entity_terms` alone.
 *
 * @param plan - that of the query
 */
export function selectPage(
  scope: TenantScope,
  plan: PagePlan,
  query: EntityPageQuery,
): Knex.Raw {
  const { knex } = scope;
  const rows = entitiesOfPage(scope, plan);
  const page = knex.raw('page as materialized ?', [
    pageIds(scope, plan, query),
  ]);
  const order = orderOf(plan, query);
  if (!query.total) {
    return knex.raw(`with ? select * from ? r order by ${order}`, [page, rows]);
  }
  return knex.raw(
    `with ?, counted as ?
     select r.*, counted.total from counted left join ? r on true order by ${order}`,
    [page, matchingCount(scope, plan.counted), rows],
  );
}

/**
 * The entities with the ids of the CTE `page`, each looked up by its id: with the offset,
 * PostgreSQL does not go through all entities of a tenant of which it expects one.
 */
export function entitiesOfPage(
  scope: TenantScope,
  { sort }: PagePlan,
): Knex.QueryBuilder {
  const { knex } = scope;
  const entity = liveEntities(scope, 'e')
    .whereRaw('e.entity_id = page.entity_id')
    .select(knex.raw('e.final_entity::text as json'), 'e.entity_id');
  return knex
    .from('page')
    .joinRaw('?', [knex.raw('cross join lateral (? offset 0) e', [entity])])
    .select(
      'e.json',
      'e.entity_id',
      knex.raw(`${sort ? 'page.value' : 'null::text'} as value`),
    );
}

/** @throws `InputError` for a filter that has no meaning */
export function planPage({
  filter,
  order,
  fullText,
}: EntityPageQuery): PagePlan {
  const condition = readFilter(filter);
  const sort = order && {
    keys: storedKeys(order.field),
    direction: order.order === 'desc' ? ('desc' as const) : ('asc' as const),
  };
  const present = sort && term(sort.keys, { type: 'present' });
  const wanted = fullText?.term.trim().toLowerCase();
  if (!wanted) {
    return {
      condition,
      counted: group('all', present ? [present, condition] : [condition]),
      sort,
    };
  }
  const sortKey = order?.field.toLowerCase();
  // As in the stock catalog, an empty field counts as missing.
  const fields = fullText?.fields ?? [sortKey || 'metadata.uid'];
  const pattern = `%${wanted}%`;
  const found = isStorable(pattern)
    ? term(
        fields.flatMap(field => storedKeys(field)),
        { type: 'like', pattern },
      )
    : term([], { type: 'any' });
  const isInOrder = fields.length === 1 && fields[0] === sortKey;
  return {
    // If the search is in the order field, the value of each row must match.
    condition:
      isInOrder && isStorable(pattern)
        ? condition
        : group('all', [condition, found]),
    pattern: isInOrder && isStorable(pattern) ? pattern : undefined,
    counted: group('all', [
      condition,
      found,
      // A match in the order field implies a value there.
      ...(present && !isInOrder ? [present] : []),
    ]),
    sort,
  };
}

/** The order of the rows of a page, by `value` and `entity_id`. */
export function orderOf(plan: PagePlan, query: EntityPageQuery): string {
  const direction = directionOf(plan, query);
  return `value ${direction}, entity_id ${direction}`;
}

function directionOf(plan: PagePlan, { backwards }: EntityPageQuery): string {
  const descending = plan.sort?.direction === 'desc';
  return descending === Boolean(backwards) ? 'asc' : 'desc';
}

function pageIds(
  scope: TenantScope,
  plan: PagePlan,
  query: EntityPageQuery,
): Knex.QueryBuilder {
  const direction = directionOf(plan, query);
  const ids = plan.sort
    ? sortedIds(scope, plan, plan.sort.keys)
    : matchingIds(scope, plan.condition);
  const alias = plan.sort ? 'o' : 'd';
  const rows = ids
    .orderByRaw(
      plan.sort
        ? `o.value ${direction}, o.entity_id ${direction}`
        : `d.entity_id ${direction}`,
    )
    .limit(query.limit);
  if (query.after) {
    rows.whereRaw('?', [
      comesAfter(
        scope.knex,
        alias,
        direction === 'asc' ? '>' : '<',
        query.after,
      ),
    ]);
  }
  return query.offset === undefined ? rows : rows.offset(query.offset);
}

/** A row for each value that an entity has at the field. */
function sortedIds(
  scope: TenantScope,
  { condition, pattern }: PagePlan,
  [key]: string[],
): Knex.QueryBuilder {
  const rows = scope
    .table('entity_terms', 'o')
    .whereRaw('o.key = ? and o.value is not null', [
      key === undefined ? null : toTermKey(key),
    ])
    .whereRaw('?', [holds(scope, condition, 'o.entity_id')])
    .select('o.entity_id', 'o.value');
  return pattern === undefined
    ? rows
    : rows.whereRaw('o.value like ?', [pattern]);
}

function comesAfter(
  knex: Knex,
  alias: string,
  operator: '<' | '>',
  { value, entityId }: NonNullable<EntityPageQuery['after']>,
): Knex.Raw {
  if (!isStorable(entityId) || !isStorable(value ?? '')) {
    throw new InputError(
      'Invalid cursor, expected the value and id of a row of an earlier page',
    );
  }
  if (value !== undefined && alias === 'd') {
    throw new InputError('Invalid cursor, expected no value without an order');
  }
  // The stock catalog's ids are text: an id that is not a UUID is compared as text.
  const [id, place] = UUID.test(entityId)
    ? [`${alias}.entity_id`, '?::uuid']
    : [`${alias}.entity_id::text`, '?::text'];
  return value === undefined
    ? knex.raw(`${id} ${operator} ${place}`, [entityId])
    : knex.raw(`(${alias}.value, ${id}) ${operator} (?::text, ${place})`, [
        value,
        entityId,
      ]);
}
