import type { Knex } from 'knex';
import type { TenantScope } from '../../database';
import type { Condition } from '../predicates';
import { holds, liveEntities } from './conditionSql';

/** The entity that has one of some refs, the first ones first, as `json`. */
export function selectEntity(
  scope: TenantScope,
  refs: string[],
): Knex.QueryBuilder {
  const query = liveEntities(scope, 'e').select(
    scope.knex.raw('e.final_entity::text as json'),
  );
  if (refs.length === 1) {
    return query.where('e.entity_ref', refs[0]);
  }
  return query
    .whereRaw('e.entity_ref = any (?::text[])', [refs])
    .orderByRaw('array_position(?::text[], e.entity_ref)', [refs])
    .limit(1);
}

/** The entities with some refs that a condition holds for, as `json`. */
export function selectEntitiesByRefs(
  scope: TenantScope,
  options: { refs: string[]; condition: Condition },
): Knex.QueryBuilder {
  const { refs, condition } = options;
  const query = liveEntities(scope, 'e').select(
    'e.entity_ref',
    scope.knex.raw('e.final_entity::text as json'),
  );
  // What matters of a statement this short is how long it takes to plan it.
  if (refs.length === 1) {
    query.where('e.entity_ref', refs[0]);
  } else {
    query.whereRaw('e.entity_ref = any (?::text[])', [refs]);
  }
  return query.whereRaw('?', [holds(scope, condition, 'e.entity_id')]);
}
