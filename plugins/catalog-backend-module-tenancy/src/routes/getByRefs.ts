import {
  type Entity,
  parseEntityRef,
  stringifyEntityRef,
} from '@backstage/catalog-model';
import type { FilterPredicate } from '@backstage/filter-predicates';
import type { ReadableCatalogStore } from '../authorization/AuthorizedCatalogStore';

/**
 * The entities with these refs, in their order, and `null` for each that is not
 * there. As in the stock catalog, refs are compared as they are written: one that
 * is no ref, or not in the form in which the catalog has it, is of no entity.
 */
export async function getByRefs(
  catalog: ReadableCatalogStore,
  tenantId: string,
  entityRefs: string[],
  options?: { filter?: FilterPredicate },
): Promise<Array<Entity | null>> {
  const known = entityRefs.filter(isCanonical);
  const found = known.length
    ? await catalog.getEntitiesByRefs(tenantId, known, options)
    : [];
  const byRef = new Map(known.map((ref, index) => [ref, found[index]]));
  return entityRefs.map(ref => byRef.get(ref) ?? null);
}

function isCanonical(entityRef: string): boolean {
  try {
    return (
      stringifyEntityRef(parseEntityRef(entityRef)) === entityRef &&
      // PostgreSQL has no text with NUL in it.
      !entityRef.includes('\0')
    );
  } catch {
    return false;
  }
}
