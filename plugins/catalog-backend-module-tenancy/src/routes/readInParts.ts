import { DEFAULT_NAMESPACE } from '@backstage/catalog-model';
import type { FilterPredicate } from '@backstage/filter-predicates';
import type {
  EntityOrder,
  EntityPageQuery,
  QueryEntities,
} from 'backstage-plugin-catalog-tenancy-node';
import type { ReadableCatalogStore } from '../authorization/AuthorizedCatalogStore';

/** How many entities are in memory at once for an answer. */
export const PART_SIZE = 1_000;

/**
 * The same where a part begins by number: PostgreSQL goes over all entities of the
 * list before it again.
 */
export const NUMBERED_PART_SIZE = 10_000;

/**
 * Reads all entities that match in parts, of which none is empty: in the order of
 * their ids, or of a field that they have, once for each of its values. The next
 * part is read when it is asked for.
 *
 * Each part begins after the row at which the last one ended, so that nothing is
 * lost or there twice if entities come or go meanwhile.
 */
export async function* readAll(
  catalog: ReadableCatalogStore,
  tenantId: string,
  query: { filter?: FilterPredicate; order?: EntityOrder },
): AsyncGenerator<string[]> {
  let after: EntityPageQuery['after'];
  for (;;) {
    const page = await catalog.readPage(tenantId, {
      ...query,
      limit: PART_SIZE,
      after,
    });
    const rows = page?.rows ?? [];
    if (rows.length > 0) {
      yield rows.map(row => row.json);
    }
    if (rows.length < PART_SIZE) {
      return;
    }
    const { value, entityId } = rows[rows.length - 1];
    after = { value, entityId };
  }
}

/**
 * Reads a long page of entities in parts, in the order of refs or of fields which
 * entities may lack.
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
): AsyncGenerator<string[]> {
  const { order } = query;
  const partSize = order?.length ? NUMBERED_PART_SIZE : PART_SIZE;
  let { limit: left = Infinity, offset = 0, afterRef } = query;
  while (left > 0) {
    const limit = Math.min(left, partSize);
    const part = await catalog.readEntities(tenantId, {
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
function refOf(json: string): string {
  const { kind, metadata } = JSON.parse(json);
  return `${kind}:${metadata.namespace ?? DEFAULT_NAMESPACE}/${metadata.name}`;
}
