import { DEFAULT_NAMESPACE, type Entity } from '@backstage/catalog-model';
import type { QueryEntities } from 'backstage-plugin-catalog-tenancy-node';
import type { ReadableCatalogStore } from '../authorization/AuthorizedCatalogStore';

/** How many entities are in memory at once for an answer. */
export const PART_SIZE = 1_000;

/**
 * The same in the order of a field: PostgreSQL looks into all entities of the list
 * again for each part, so that parts of the other size would take minutes.
 */
export const ORDERED_PART_SIZE = 10_000;

/**
 * Reads entities in parts, of which none is empty. The next is read when it is asked
 * for.
 *
 * In the order of refs each part begins after the ref at which the last one ended.
 * In any other order it begins where the last one ended by number: if entities come
 * or go meanwhile, one may be there twice, or not at all, as when a client pages
 * through the list by itself.
 */
export async function* readInParts(
  catalog: ReadableCatalogStore,
  tenantId: string,
  query: QueryEntities,
): AsyncGenerator<Entity[]> {
  const { order } = query;
  const partSize = order?.length ? ORDERED_PART_SIZE : PART_SIZE;
  let { limit: left = Infinity, offset = 0, afterRef } = query;
  while (left > 0) {
    const limit = Math.min(left, partSize);
    const part = await catalog.queryEntities(tenantId, {
      ...query,
      limit,
      offset,
      afterRef,
    });
    if (part.length > 0) {
      yield part;
    }
    if (part.length < limit) {
      return;
    }
    left -= part.length;
    if (order?.length) {
      offset += part.length;
    } else {
      offset = 0;
      afterRef = refOf(part[part.length - 1]);
    }
  }
}

/** As the entity spells itself: the store knows how it has spelled the ref. */
function refOf({ kind, metadata }: Entity): string {
  return `${kind}:${metadata.namespace ?? DEFAULT_NAMESPACE}/${metadata.name}`;
}
