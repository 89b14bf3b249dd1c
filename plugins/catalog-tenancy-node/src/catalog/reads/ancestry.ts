import type { Entity } from '@backstage/catalog-model';
import type { Knex } from 'knex';
import type { TenantScope } from '../../database';
import type { EntityAncestry } from '../CatalogStore';
import { liveEntities } from './conditionSql';

/** An entity and those that have emitted it. */
export interface AncestryRow {
  entity_ref: string;
  json: string;
  parents: string[];
  is_root: boolean;
}

/**
 * The live entity that has one of some refs, and all live entities from which it
 * comes, each once and in no order.
 */
export function selectAncestry(scope: TenantScope, refs: string[]): Knex.Raw {
  const { knex } = scope;
  const root = liveEntities(scope, 'r')
    .whereRaw('r.entity_ref = any (?::text[])', [refs])
    .orderByRaw('array_position(?::text[], r.entity_ref)', [refs])
    .limit(1)
    .select('r.entity_ref');
  const parentsOf = (ref: string) =>
    scope
      .table('entity_parents', 'p')
      .whereRaw(`p.entity_ref = ${ref}`)
      .whereRaw('exists ?', [
        liveEntities(scope, 'a')
          .whereRaw('a.entity_ref = p.parent_entity_ref')
          .select(knex.raw('1')),
      ])
      .select('p.parent_entity_ref');
  const entities = liveEntities(scope, 'e')
    .joinRaw('join line on line.entity_ref = e.entity_ref')
    .select(
      'e.entity_ref',
      knex.raw('e.final_entity::text as json'),
      knex.raw(
        'array(select parent_entity_ref from ? p order by 1) as parents',
        [parentsOf('e.entity_ref')],
      ),
      knex.raw('e.entity_ref = (select entity_ref from root) as is_root'),
    );
  return knex.raw(
    `with recursive root as ?, line (entity_ref) as (
       select entity_ref from root
       union
       select parent.parent_entity_ref from line, lateral ? parent
     ) ?`,
    [root, parentsOf('line.entity_ref'), entities],
  );
}

/** The order in which the stock catalog comes to them: the last parent first. */
export function toAncestry(
  rows: AncestryRow[],
  rootEntityRef: string,
): EntityAncestry | undefined {
  const byRef = new Map(rows.map(row => [row.entity_ref, row]));
  const items: EntityAncestry['items'] = [];
  const seen = new Set<string>();
  const todo = rows.filter(row => row.is_root);
  for (let row = todo.pop(); row; row = todo.pop()) {
    seen.add(row.entity_ref);
    for (const ref of row.parents) {
      const parent = byRef.get(ref);
      if (parent && !seen.has(ref)) {
        seen.add(ref);
        todo.push(parent);
      }
    }
    items.push({
      entity: JSON.parse(row.json) as Entity,
      parentEntityRefs: row.parents,
    });
  }
  return items.length > 0 ? { rootEntityRef, items } : undefined;
}
