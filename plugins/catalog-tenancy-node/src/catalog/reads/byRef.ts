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
  return liveEntities(scope, 'e')
    .whereRaw('e.entity_ref = any (?::text[])', [refs])
    .whereRaw('?', [holds(scope, condition, 'e.entity_id')])
    .select('e.entity_ref', scope.knex.raw('e.final_entity::text as json'));
}
