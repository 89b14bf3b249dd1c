import type { FilterPredicate } from '@backstage/filter-predicates';
import { InputError } from '@backstage/errors';
import type { Knex } from 'knex';
import type { TenantScope } from '../database';
import type { QueryEntities } from './CatalogStore';
import { storedRefs } from './entityRefs';
import { filterCondition, isStorable, kindsOf, orderValue } from './predicates';
import type { ConditionContext, ValueText } from './predicates';

/** The live entities of the tenant, as `e`. */
function liveEntities(scope: TenantScope): Knex.QueryBuilder {
  return scope.table('entities', 'e').whereNull('e.deleted_at');
}

/** The entity that has one of some refs, the first ones first. */
export function selectEntity(
  scope: TenantScope,
  refs: string[],
): Knex.QueryBuilder {
  const query = liveEntities(scope).select('e.final_entity');
  if (refs.length === 1) {
    return query.where('e.entity_ref', refs[0]);
  }
  return query
    .whereRaw('e.entity_ref = any (?::text[])', [refs])
    .orderByRaw('array_position(?::text[], e.entity_ref)', [refs])
    .limit(1);
}

/**
 * The newest entities of a kind in any case.
 *
 * Each way to write the kind is looked up by itself, for only so does the index
 * give its entities in the order of their creation.
 */
export function selectNewest(
  scope: TenantScope,
  text: ValueText,
  options: { kind: string; limit: number },
): Knex.QueryBuilder {
  const { knex } = scope;
  const newest = liveEntities(scope)
    .whereRaw('e.entity_kind = kinds.kind')
    .orderBy('e.created_at', 'desc')
    .limit(options.limit)
    .select('e.entity_ref', 'e.entity_name', 'e.created_at');
  return knex
    .from(
      knex.raw('(?) kinds (kind), lateral (?) newest', [
        kindsOf(scope, text, [options.kind.toLowerCase()].filter(isStorable)),
        newest,
      ]),
    )
    .select('newest.entity_ref', 'newest.entity_name', 'newest.created_at')
    .orderBy('newest.created_at', 'desc')
    .limit(options.limit);
}

/** The entities with some refs that match a filter. */
export function selectEntitiesByRefs(
  scope: TenantScope,
  text: ValueText,
  options: { refs: string[]; filter?: FilterPredicate },
): Knex.QueryBuilder {
  return matching({ scope, text }, options.filter)
    .whereRaw('e.entity_ref = any (?::text[])', [options.refs])
    .select('e.entity_ref', 'e.final_entity');
}

/** @throws `InputError` for a filter that has no meaning, or `afterRef` in an order */
export function selectEntities(
  scope: TenantScope,
  text: ValueText,
  query: QueryEntities,
): Knex.QueryBuilder {
  const { filter, order = [], afterRef, limit, offset } = query;
  const context = { scope, text };
  const entities = matching(context, filter).select('e.final_entity');
  if (order.length > 0) {
    if (afterRef !== undefined) {
      throw new InputError('afterRef has no meaning together with an order');
    }
    for (const { field, order: direction } of order) {
      const value = orderValue(context, field, direction);
      entities.orderByRaw(
        direction === 'desc' ? '? desc nulls last' : '? asc nulls last',
        [value],
      );
    }
    entities.orderBy('e.entity_id');
  } else {
    entities.orderBy('e.entity_ref');
    if (afterRef !== undefined) {
      entities.where('e.entity_ref', '>', storedAs(scope, afterRef));
    }
  }
  if (limit !== undefined) {
    entities.limit(limit);
  }
  if (offset !== undefined) {
    entities.offset(offset);
  }
  return entities;
}

/**
 * The ref in the case in which it is stored, which has its own place in the order:
 * of a deleted entity too, for it may have been deleted just now.
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

function matching(
  context: ConditionContext,
  filter: FilterPredicate | undefined,
): Knex.QueryBuilder {
  const entities = liveEntities(context.scope);
  return filter === undefined
    ? entities
    : entities.whereRaw('?', [filterCondition(context, filter)]);
}
