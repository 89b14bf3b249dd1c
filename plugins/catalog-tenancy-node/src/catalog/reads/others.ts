import type { Entity } from '@backstage/catalog-model';
import { isCountedKey, toTermKey } from 'backstage-catalog-tenancy-migrations';
import type { Knex } from 'knex';
import type { TenantScope } from '../../database/TenantDatabase';
import type { EntityAncestry, FacetsQuery } from '../CatalogStore';
import {
  type Condition,
  isAlways,
  isStorable,
  storedKeys,
} from '../conditions';
import { VERSION } from '../EntityTexts';
import { holds, liveEntities, matchingIds, termRows } from './conditionSql';

/**
 * The newest entities of a kind, spelt as given or in lower case, as engines write kinds.
 *
 * Each spelling is a separate look-up, because the index is ordered by creation within one
 * spelling only.
 */
export function selectNewest(
  scope: TenantScope,
  { kind, limit }: { kind: string; limit: number },
): Knex.QueryBuilder {
  const { knex } = scope;
  const kinds = [...new Set([kind, kind.toLowerCase()])].filter(isStorable);
  const newest = liveEntities(scope, 'e')
    .whereRaw('e.entity_kind = kinds.kind')
    .orderBy('e.created_at', 'desc')
    .limit(limit)
    .select('e.entity_ref', 'e.entity_name', 'e.created_at');
  return knex
    .from(
      knex.raw('unnest(?::text[]) kinds (kind), lateral (?) newest', [
        kinds,
        newest,
      ]),
    )
    .select('newest.entity_ref', 'newest.entity_name', 'newest.created_at')
    .orderBy('newest.created_at', 'desc')
    .limit(limit);
}

/** The entity with the first of the refs that exists, as `json`. */
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

/**
 * The entities with these refs that match a condition, as {@link EntityTextRow}.
 *
 * @param options - `known`: the versions whose texts need not be sent
 */
export function selectEntitiesByRefs(
  scope: TenantScope,
  options: { refs: string[]; condition: Condition; known: string[] },
): Knex.QueryBuilder {
  const { refs, condition, known } = options;
  const { knex } = scope;
  const query = liveEntities(scope, 'e').select(
    'e.entity_ref',
    knex.raw(
      `case when ${VERSION} = any (?::text[]) then null
            else e.final_entity::text || chr(10) || ${VERSION} end as content`,
      [known],
    ),
  );
  // `=` takes less time to plan, which is most of this statement's time.
  if (refs.length === 1) {
    query.where('e.entity_ref', refs[0]);
  } else {
    query.whereRaw('e.entity_ref = any (?::text[])', [refs]);
  }
  return query.whereRaw('?', [holds(scope, condition, 'e.entity_id')]);
}

/** How many entities have a value at a key; the key is spelt as in `entity_terms`. */
export interface FacetRow {
  key: string;
  value: string;
  count: number;
}

/**
 * Counts entities by key and value, as {@link FacetRow}, ordered by both.
 *
 * If `entity_terms_facets_idx` covers all keys, the rows are grouped by its columns in its
 * order. Two groups never have the same original value, because a lower-case value is stored
 * without one. Other keys have nearly as many groups as rows; grouping by the sort expression
 * is faster for them.
 *
 * The matching ids are materialized: of a tenant that came after the last ANALYZE, PostgreSQL
 * expects one row, and would find them again for each term.
 *
 * @param condition - on the counted entities
 */
export function selectFacets(
  scope: TenantScope,
  condition: Condition,
  { facets }: Pick<FacetsQuery, 'facets'>,
): Knex.QueryBuilder {
  const keys = [...new Set(facets.flatMap(storedKeys))];
  const original = `coalesce(nullif(s.original_value, ''), s.value)`;
  const values = termRows(scope, { keys, test: { type: 'present' } }, 's')
    .groupByRaw(
      keys.map(toTermKey).every(isCountedKey)
        ? 's.key, s.original_value, s.value'
        : `s.key, ${original}`,
    )
    .orderByRaw(`s.key, ${original}`)
    .select(
      's.key',
      scope.knex.raw(`${original} as value`),
      scope.knex.raw('count(*)::int as count'),
    );
  return isAlways(condition)
    ? values
    : values
        .withMaterialized('matching', matchingIds(scope, condition))
        .join('matching', 'matching.entity_id', 's.entity_id');
}

/** An entity and the refs of its parents, which may be deleted. */
export interface AncestryRow {
  entity_ref: string;
  json: string;
  parents: string[];
}

/**
 * The live entities with these refs and their live ancestors, each once, unordered.
 *
 * Includes ancestors that are reachable through a deleted entity only; {@link toAncestry}
 * removes them. Checking each step in SQL would more than double the planning time.
 */
export function selectAncestry(scope: TenantScope, refs: string[]): Knex.Raw {
  const { knex } = scope;
  const parents = () =>
    scope
      .table('entity_parents', 'p')
      .select('p.entity_ref', 'p.parent_entity_ref');
  const entities = liveEntities(scope, 'e')
    .whereRaw(
      'e.entity_ref = any (?::text[] || array(select parent_entity_ref from line))',
      [refs],
    )
    .select(
      'e.entity_ref',
      knex.raw('e.final_entity::text as json'),
      knex.raw(
        `array(
           select line.parent_entity_ref from line
            where line.entity_ref = e.entity_ref
            order by 1
         ) as parents`,
      ),
    );
  return knex.raw(
    `with recursive line (entity_ref, parent_entity_ref) as (
       (?)
       union
       (?)
     ) ?`,
    [
      parents().whereRaw('p.entity_ref = any (?::text[])', [refs]),
      parents().joinRaw('join line on line.parent_entity_ref = p.entity_ref'),
      entities,
    ],
  );
}

/**
 * Orders ancestors as the stock catalog does: depth first, the last parent first.
 *
 * @param refs - the possible refs of the requested entity, by priority; the last one is in
 * lower case
 */
export function toAncestry(
  rows: readonly Readonly<AncestryRow>[],
  refs: readonly string[],
): EntityAncestry | undefined {
  const byRef = new Map(rows.map(row => [row.entity_ref, row]));
  const items: EntityAncestry['items'] = [];
  const seen = new Set<string>();
  const todo = refs.flatMap(ref => byRef.get(ref) ?? []).slice(0, 1);
  for (let row = todo.pop(); row; row = todo.pop()) {
    seen.add(row.entity_ref);
    const parents = row.parents.flatMap(ref => byRef.get(ref) ?? []);
    for (const parent of parents) {
      if (!seen.has(parent.entity_ref)) {
        seen.add(parent.entity_ref);
        todo.push(parent);
      }
    }
    items.push({
      entity: JSON.parse(row.json) as Entity,
      parentEntityRefs: parents.map(parent => parent.entity_ref),
    });
  }
  return items.length > 0
    ? { rootEntityRef: refs[refs.length - 1], items }
    : undefined;
}
