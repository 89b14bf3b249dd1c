import { InputError } from '@backstage/errors';
import { toTermKey } from 'backstage-catalog-tenancy-migrations';
import type { Knex } from 'knex';
import type { TenantScope } from '../../database/TenantDatabase';
import type { EntityOrder, QueryEntities } from '../CatalogStore';
import { storedRefs } from '../entityRefs';
import { type Condition, storedKeys, term } from '../conditions';
import { holds, liveEntities } from './conditionSql';

/**
 * A list of entities, as `json`. It selects ids or refs first, so that skipped entities are not
 * read.
 *
 * @param condition - the filter of the query
 * @throws `InputError` for `afterRef` in an order
 */
export function selectEntities(
  scope: TenantScope,
  condition: Condition,
  query: Omit<QueryEntities, 'filter'>,
): Knex.Raw {
  const { order = [], afterRef } = query;
  if (order.length === 0) {
    return fetch(scope, 'entity_ref', byRef(scope, condition, query));
  }
  if (afterRef !== undefined) {
    throw new InputError('afterRef has no meaning together with an order');
  }
  return fetch(
    scope,
    'entity_id',
    order.length === 1 && query.limit !== undefined
      ? byField(scope, condition, { ...query, order: order[0] })
      : byFields(scope, condition, { ...query, order }),
  );
}

/** @param listed - the keys of the entities, with their `place` in the list */
function fetch(
  scope: TenantScope,
  key: 'entity_id' | 'entity_ref',
  listed: Knex.QueryBuilder,
): Knex.Raw {
  const { knex } = scope;
  return knex.raw(`with listed as materialized ? ?`, [
    listed,
    liveEntities(scope, 'e')
      .join('listed', `listed.${key}`, `e.${key}`)
      .orderBy('listed.place')
      .select(knex.raw('e.final_entity::text as json')),
  ]);
}

interface Slice {
  limit?: number;
  offset?: number;
}

function slice(rows: Knex.QueryBuilder, { limit, offset }: Slice) {
  if (limit !== undefined) {
    rows.limit(limit);
  }
  if (offset !== undefined) {
    rows.offset(offset);
  }
  return rows;
}

/**
 * Selects refs only: without a condition on the id, an index-only scan reads no skipped entity.
 */
function byRef(
  scope: TenantScope,
  condition: Condition,
  { afterRef, ...query }: Omit<QueryEntities, 'filter'>,
): Knex.QueryBuilder {
  const entities = liveEntities(scope, 'e')
    .whereRaw('?', [holds(scope, condition, 'e.entity_id')])
    .orderBy('e.entity_ref')
    .select('e.entity_ref', 'e.entity_ref as place');
  if (afterRef !== undefined) {
    entities.where('e.entity_ref', '>', storedAs(scope, afterRef));
  }
  return slice(entities, query);
}

/**
 * The ref as it is stored, since upper and lower case differ in the order. Includes deleted
 * entities: the entity may have been deleted since the last part was read.
 */
function storedAs(scope: TenantScope, entityRef: string): Knex.Raw {
  const refs = storedRefs(entityRef);
  const stored = scope
    .table('entities', 'a')
    .whereRaw('a.entity_ref = any (?::text[])', [refs])
    .orderByRaw('array_position(?::text[], a.entity_ref)', [refs])
    .limit(1)
    .select('a.entity_ref');
  return scope.knex.raw('coalesce((?), ?)', [stored, refs[refs.length - 1]]);
}

/**
 * A part of the list ordered by one field: at most `limit` + `offset` rows from the index, then
 * entities that lack the field if the limit is not reached.
 */
function byField(
  scope: TenantScope,
  condition: Condition,
  query: Slice & { order: EntityOrder },
): Knex.QueryBuilder {
  const { knex } = scope;
  const { limit = 0, offset = 0, order } = query;
  const [key] = storedKeys(order.field);
  const termKey = key === undefined ? null : toTermKey(key);
  const direction = order.order === 'desc' ? 'desc' : 'asc';
  const better = direction === 'desc' ? '>' : '<';
  const most = Math.min(limit + offset, Number.MAX_SAFE_INTEGER);
  const having = scope
    .table('entity_terms', 'o')
    .whereRaw('o.key = ? and o.value is not null', [termKey])
    .whereRaw('?', [holds(scope, condition, 'o.entity_id')])
    // Keep the first of an entity's values in the order.
    .whereRaw('not exists ?', [
      scope
        .table('entity_terms', 'b')
        .whereRaw(
          `b.key = ? and b.value ${better} o.value and b.entity_id = o.entity_id`,
          [termKey],
        )
        .select(knex.raw('1')),
    ])
    .orderByRaw(`o.value ${direction}, o.entity_id`)
    .limit(most)
    .select('o.entity_id', 'o.value');
  const present = key === undefined ? [] : [key];
  const lacking = liveEntities(scope, 'e')
    .whereRaw('?', [holds(scope, condition, 'e.entity_id')])
    .whereRaw('not ?', [
      holds(scope, term(present, { type: 'present' }), 'e.entity_id'),
    ])
    .orderBy('e.entity_id')
    .select('e.entity_id');
  const rows = knex
    .from(
      knex.raw(
        `(with having_it as materialized ?, lacking_it as materialized (? limit greatest(0, ? - (select count(*) from having_it)))
          select entity_id, value, false as lacks from having_it
          union all select entity_id, null, true from lacking_it) sides`,
        [having, lacking, most],
      ),
    )
    .orderByRaw(`lacks, value ${direction}, entity_id`)
    .select(
      'entity_id',
      knex.raw(
        `row_number() over (order by lacks, value ${direction}, entity_id) as place`,
      ),
    );
  return slice(rows, { limit, offset });
}

/** The list ordered by several fields, or the whole list ordered by one. */
function byFields(
  scope: TenantScope,
  condition: Condition,
  query: Slice & { order: EntityOrder[] },
): Knex.QueryBuilder {
  const { knex } = scope;
  const keys = query.order.map(({ field }) => storedKeys(field).map(toTermKey));
  // One join for all fields, so that PostgreSQL can choose: all terms of the keys, or those of
  // each remaining entity.
  const places = query.order.map(({ order }, index) =>
    knex.raw(
      `${order === 'desc' ? 'max' : 'min'}(v.value) filter (where v.key = ?)`,
      [keys[index][0] ?? null],
    ),
  );
  const directions = query.order.map(({ order }) =>
    order === 'desc' ? 'desc nulls last' : 'asc nulls last',
  );
  const ordering = [
    ...directions.map((direction, index) => `sorted.v${index} ${direction}`),
    'sorted.entity_id',
  ].join(', ');
  const sorted = liveEntities(scope, 'e')
    .leftJoin(
      knex.raw('? v', [
        scope
          .table('entity_terms', 'o')
          .whereRaw('o.key = any (?::text[])', [keys.flat()])
          .select('o.entity_id', 'o.key', 'o.value'),
      ]),
      'v.entity_id',
      'e.entity_id',
    )
    .whereRaw('?', [holds(scope, condition, 'e.entity_id')])
    .groupBy('e.entity_id')
    .select(
      'e.entity_id',
      ...places.map((place, index) => knex.raw(`? as v${index}`, [place])),
    );
  return slice(
    knex
      .from(knex.raw('? sorted', [sorted]))
      .orderByRaw(ordering)
      .select(
        'sorted.entity_id',
        knex.raw(`row_number() over (order by ${ordering}) as place`),
      ),
    query,
  );
}
