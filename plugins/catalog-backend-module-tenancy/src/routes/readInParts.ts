import { DEFAULT_NAMESPACE } from '@backstage/catalog-model';
import type { FilterPredicate } from '@backstage/filter-predicates';
import type {
  EntityOrder,
  EntityPageQuery,
  QueryEntities,
} from 'backstage-plugin-catalog-tenancy-node';
import type { ReadableCatalogStore } from '../authorization/AuthorizedCatalogStore';

/** The most entities in memory at once for a response. */
export const PART_SIZE = 1_000;

/**
 * The same for parts by offset, which is larger because PostgreSQL reads all earlier entities
 * again for each part.
 */
export const NUMBERED_PART_SIZE = 10_000;

/**
 * Reads all matching entities in non-empty parts, ordered by id or by a field; an entity is
 * repeated for each of its values at the field. The next part is read on demand.
 *
 * Each part begins after the last row of the previous one, so that concurrent writes neither
 * lose nor repeat entities.
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
 * Reads a long page of entities in parts, ordered by ref or by fields that entities may lack.
 *
 * Ordered by ref, each part begins after the last ref of the previous one. In other orders
 * parts begin at an offset: concurrent writes may repeat or lose an entity, as when a client
 * pages through the list.
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

/** The ref as the entity spells it, as `afterRef` requires. */
function refOf(json: string): string {
  const { kind, metadata } = JSON.parse(json);
  return `${kind}:${metadata.namespace ?? DEFAULT_NAMESPACE}/${metadata.name}`;
}
