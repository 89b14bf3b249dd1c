import { type Entity, stringifyEntityRef } from '@backstage/catalog-model';
import type { EntityAncestry } from 'backstage-plugin-catalog-tenancy-node';

/**
 * Takes from an ancestry what may not be read, and whatever that comes from, even if
 * something that may be read comes from it too. What is left still names its parents.
 */
export function pruneAncestry(
  ancestry: EntityAncestry,
  isReadable: (entity: Entity) => boolean,
): EntityAncestry {
  const { rootEntityRef, items } = ancestry;
  const parentsOf = new Map(
    items.map(item => [stringifyEntityRef(item.entity), item.parentEntityRefs]),
  );
  const pruned = new Set(
    items
      .filter(item => !isReadable(item.entity))
      .map(item => stringifyEntityRef(item.entity)),
  );
  // What is added on the way is visited too.
  for (const ref of pruned) {
    for (const parent of parentsOf.get(ref) ?? []) {
      pruned.add(parent);
    }
  }
  return {
    rootEntityRef,
    items: items.filter(item => !pruned.has(stringifyEntityRef(item.entity))),
  };
}
