import { type Entity, stringifyEntityRef } from '@backstage/catalog-model';
import type { ReadableCatalogStore } from '../authorization/AuthorizedCatalogStore';

/** The entities of one tenant, in the order of their refs. It knows no filters. */
export function memoryStore(entities: Entity[]) {
  const queryEntities = jest.fn<
    ReturnType<ReadableCatalogStore['queryEntities']>,
    Parameters<ReadableCatalogStore['queryEntities']>
  >(async (_tenantId, { afterRef = '', offset = 0, limit } = {}) =>
    entities
      .filter(entity => stringifyEntityRef(entity) > afterRef.toLowerCase())
      .slice(offset, limit === undefined ? undefined : offset + limit),
  );
  const getEntitiesByRefs = jest.fn<
    ReturnType<ReadableCatalogStore['getEntitiesByRefs']>,
    Parameters<ReadableCatalogStore['getEntitiesByRefs']>
  >(async (_tenantId, refs) =>
    refs.map(
      ref =>
        entities.find(entity => stringifyEntityRef(entity) === ref) ?? null,
    ),
  );
  return { queryEntities, getEntitiesByRefs };
}
