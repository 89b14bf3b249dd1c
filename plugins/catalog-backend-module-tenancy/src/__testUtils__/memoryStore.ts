import { type Entity, stringifyEntityRef } from '@backstage/catalog-model';
import type { ReadableCatalogStore } from '../authorization/AuthorizedCatalogStore';

type Read<TName extends keyof ReadableCatalogStore> = jest.Mock<
  ReturnType<ReadableCatalogStore[TName]>,
  Parameters<ReadableCatalogStore[TName]>
>;

/**
 * The entities of one tenant, in the order of their refs, which are their ids too. It
 * knows no filters and no orders, and none of them comes from another.
 */
export function memoryStore(entities: Entity[]) {
  const readEntities: Read<'readEntities'> = jest.fn(
    async (_tenantId, { afterRef = '', offset = 0, limit } = {}) =>
      entities
        .filter(entity => stringifyEntityRef(entity) > afterRef.toLowerCase())
        .slice(offset, limit === undefined ? undefined : offset + limit)
        .map(entity => JSON.stringify(entity)),
  );
  const find = (ref: string) =>
    entities.find(entity => stringifyEntityRef(entity) === ref);
  const readEntitiesByRefs: Read<'readEntitiesByRefs'> = jest.fn(
    async (_tenantId, refs) =>
      refs.map(ref => {
        const entity = find(ref);
        return entity ? JSON.stringify(entity) : null;
      }),
  );
  const readPage = jest.fn<
    Promise<NonNullable<Awaited<ReturnType<ReadableCatalogStore['readPage']>>>>,
    Parameters<ReadableCatalogStore['readPage']>
  >(async (_tenantId, query) => {
    const { after, backwards, limit, offset = 0, total } = query;
    const rows = entities.map(entity => ({
      json: JSON.stringify(entity),
      entityId: stringifyEntityRef(entity),
      value: query.order && entity.metadata.name,
    }));
    const left = (backwards ? rows.reverse() : rows).filter(
      ({ entityId }) =>
        !after ||
        (backwards ? entityId < after.entityId : entityId > after.entityId),
    );
    return {
      rows: left.slice(offset, offset + limit),
      totalItems: total ? entities.length : undefined,
    };
  });
  const countFacets: Read<'countFacets'> = jest.fn(
    async (_tenantId, { facets }) =>
      Object.fromEntries(
        facets.map(facet => [facet, [{ value: 'x', count: entities.length }]]),
      ),
  );
  const getAncestry: Read<'getAncestry'> = jest.fn(async (_tenantId, ref) => {
    const entity = find(ref);
    return (
      entity && {
        rootEntityRef: ref,
        items: [{ entity, parentEntityRefs: [] }],
      }
    );
  });
  return {
    readEntities,
    readEntitiesByRefs,
    readPage,
    countFacets,
    getAncestry,
  };
}
