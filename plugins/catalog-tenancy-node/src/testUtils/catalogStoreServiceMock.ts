import {
  createServiceFactory,
  type ServiceFactory,
} from '@backstage/backend-plugin-api';
import {
  createServiceMock,
  type ServiceMock,
} from '@backstage/backend-test-utils';
import {
  type CatalogStore,
  catalogStoreServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
import { InMemoryCatalogStore } from './InMemoryCatalogStore';

/**
 * Creates a catalog store that keeps everything in memory. With valid input it does
 * what the one on PostgreSQL does, except that it knows no registry: every UUID is
 * an active tenant to it, with room for any number of entities.
 *
 * It proves nothing about isolation: see {@link assertTenantIsolation}.
 *
 * @public
 */
export function catalogStoreServiceMock(): CatalogStore {
  return new InMemoryCatalogStore();
}

/**
 * Stand-ins for the catalog store in tests of other backend plugins.
 *
 * @public
 */
export namespace catalogStoreServiceMock {
  /**
   * A service factory for `startTestBackend`, around the given store or a new one in
   * memory.
   */
  export const factory = (
    options: { store?: CatalogStore } = {},
  ): ServiceFactory<CatalogStore, 'root'> =>
    createServiceFactory({
      service: catalogStoreServiceRef,
      deps: {},
      factory: () => options.store ?? new InMemoryCatalogStore(),
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
      applyMutation: jest.fn(),
    }),
  );
}
