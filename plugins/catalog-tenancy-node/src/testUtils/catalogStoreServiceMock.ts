import {
  createServiceFactory,
  type ServiceFactory,
} from '@backstage/backend-plugin-api';
import {
  createServiceMock,
  type ServiceMock,
} from '@backstage/backend-test-utils';
import {
  type Entity,
  parseEntityRef,
  stringifyEntityRef,
} from '@backstage/catalog-model';
import { InputError, NotImplementedError } from '@backstage/errors';
import type { FilterPredicate } from '@backstage/filter-predicates';
import {
  type CatalogStore,
  catalogStoreServiceRef,
  type QueryEntities,
} from 'backstage-plugin-catalog-tenancy-node';

/**
 * The entities that a mock of the catalog store has, by tenant id.
 *
 * @public
 */
export type MockCatalogEntities = Record<string, Entity[]>;

/**
 * Creates a catalog store over fixed entities. Each tenant has those that are given for
 * it, and every other tenant has none.
 *
 * It finds entities by their refs, by their kind, and by filters of plain equality, such
 * as `{ kind: 'Component', 'spec.type': 'service' }`. Everything else rejects with a
 * `NotImplementedError` that names it: operators of filters, orders, pages, facets
 * and ancestry. For those, test on PostgreSQL, or give
 * {@link (catalogStoreServiceMock:namespace).mock} the answers.
 *
 * It proves nothing about isolation: see {@link assertTenantIsolation}.
 *
 * @public
 */
export function catalogStoreServiceMock(
  options: { entities?: MockCatalogEntities } = {},
): CatalogStore {
  const byTenant = new Map(Object.entries(options.entities ?? {}));

  const find = (tenantId: string, filter?: FilterPredicate) => {
    const matches = matcherOf(filter);
    return (byTenant.get(tenantId) ?? [])
      .filter(matches)
      .map(entity => structuredClone(entity));
  };
  const list = (tenantId: string, query: QueryEntities = {}) => {
    const { filter, order, afterRef, limit = Infinity, offset = 0 } = query;
    if (order?.length || afterRef !== undefined) {
      throw notMocked('an order or afterRef');
    }
    return find(tenantId, filter).slice(offset, offset + limit);
  };
  const byRefs = (
    tenantId: string,
    entityRefs: string[],
    { filter }: { filter?: FilterPredicate } = {},
  ) => {
    const found = new Map(
      find(tenantId, filter).map(each => [stringifyEntityRef(each), each]),
    );
    return entityRefs.map(ref => found.get(canonicalRef(ref)) ?? null);
  };

  return {
    getEntity: async (tenantId, entityRef) =>
      byRefs(tenantId, [entityRef])[0] ?? undefined,
    listEntities: async (tenantId, kind, limit = 100) =>
      find(tenantId, { kind })
        .slice(0, limit)
        .map(entity => ({
          entity_ref: stringifyEntityRef(entity),
          entity_name: entity.metadata.name.toLowerCase(),
          created_at: new Date(0),
        })),
    queryEntities: async (tenantId, query) => list(tenantId, query),
    getEntitiesByRefs: async (tenantId, refs, query) =>
      byRefs(tenantId, refs, query),
    readEntities: async (tenantId, query) =>
      list(tenantId, query).map(entity => JSON.stringify(entity)),
    readEntitiesByRefs: async (tenantId, refs, query) =>
      byRefs(tenantId, refs, query).map(
        entity => entity && JSON.stringify(entity),
      ),
    readPage: async () => Promise.reject(notMocked('readPage')),
    countFacets: async () => Promise.reject(notMocked('countFacets')),
    getAncestry: async () => Promise.reject(notMocked('getAncestry')),
  };
}

/**
 * Stand-ins for the catalog store in tests of other backend plugins.
 *
 * @public
 */
export namespace catalogStoreServiceMock {
  /**
   * A service factory for `startTestBackend`, around the given store, or a new one over
   * the given entities.
   */
  export const factory = (
    options: { store?: CatalogStore; entities?: MockCatalogEntities } = {},
  ): ServiceFactory<CatalogStore, 'root'> =>
    createServiceFactory({
      service: catalogStoreServiceRef,
      deps: {},
      factory: () => options.store ?? catalogStoreServiceMock(options),
    });

  /** A store whose operations are `jest.fn()`s. */
  export const mock: (
    partialImpl?: Partial<CatalogStore>,
  ) => ServiceMock<CatalogStore> = createServiceMock(
    catalogStoreServiceRef,
    () => ({
      getEntity: jest.fn(),
      listEntities: jest.fn(),
      queryEntities: jest.fn(),
      getEntitiesByRefs: jest.fn(),
      readEntities: jest.fn(),
      readEntitiesByRefs: jest.fn(),
      readPage: jest.fn(),
      countFacets: jest.fn(),
      getAncestry: jest.fn(),
    }),
  );
}

/** Whether an entity has each of some values, in any case, at a path such as `spec.type`. */
function matcherOf(filter: FilterPredicate = {}): (entity: Entity) => boolean {
  const wanted = Object.entries(filter);
  for (const [path, value] of wanted) {
    if (path.startsWith('$') || typeof value === 'object') {
      throw notMocked(`the filter ${JSON.stringify({ [path]: value })}`);
    }
  }
  return entity =>
    wanted.every(([path, value]) => {
      const found = path
        .split('.')
        .reduce<unknown>(
          (node, key) => (node as Record<string, unknown> | undefined)?.[key],
          entity,
        );
      return String(found).toLowerCase() === String(value).toLowerCase();
    });
}

function canonicalRef(entityRef: string): string {
  try {
    return stringifyEntityRef(parseEntityRef(entityRef));
  } catch {
    throw new InputError(
      `Invalid entity ref '${entityRef}', expected <kind>:<namespace>/<name>`,
    );
  }
}

function notMocked(what: string): NotImplementedError {
  return new NotImplementedError(
    `The mock of the catalog store does not do ${what}: it has fixed entities, by ref, ` +
      'by kind and by plain equality. Test on PostgreSQL, or give ' +
      'catalogStoreServiceMock.mock() the answer',
  );
}
