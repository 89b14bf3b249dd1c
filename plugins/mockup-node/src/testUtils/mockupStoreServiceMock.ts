import {
  createServiceFactory,
  type ServiceFactory,
} from '@backstage/backend-plugin-api';
import {
  createServiceMock,
  type ServiceMock,
} from '@backstage/backend-test-utils';
import {
  type MockupStore,
  type MockupStores,
  mockupStoreServiceRef,
} from 'backstage-plugin-mockup-node';
import { InMemoryMockupStore } from './InMemoryMockupStore';

const DEFAULT_TENANT_ID = '00000000-0000-0000-0000-000000000001';

/**
 * Creates mockup stores that keep everything in memory, one for each tenant. With valid
 * input they behave like the plugin's.
 *
 * @public
 */
export function mockupStoreServiceMock(): MockupStores {
  const stores = new Map<string, MockupStore>();
  const forTenant = (tenantId: string) => {
    const key = tenantId.toLowerCase();
    const store = stores.get(key) ?? new InMemoryMockupStore();
    stores.set(key, store);
    return store;
  };
  return { forTenant, forDefaultTenant: () => forTenant(DEFAULT_TENANT_ID) };
}

/**
 * Stand-ins for the mockup stores in tests of other backend plugins.
 *
 * @public
 */
export namespace mockupStoreServiceMock {
  /**
   * A service factory for `startTestBackend`, around the given stores or new ones in
   * memory.
   */
  export const factory = (
    options: { stores?: MockupStores } = {},
  ): ServiceFactory<MockupStores, 'root'> =>
    createServiceFactory({
      service: mockupStoreServiceRef,
      deps: {},
      factory: () => options.stores ?? mockupStoreServiceMock(),
    });

  /**
   * Stores whose operations are `jest.fn()`s: those of `store`, whatever the tenant.
   * `forTenant` tells for which it was called.
   */
  export const mock = (
    partialImpl: Partial<MockupStore> = {},
  ): ServiceMock<MockupStores> & {
    readonly store: jest.Mocked<MockupStore>;
  } => {
    const store: jest.Mocked<MockupStore> = {
      list: jest.fn(partialImpl.list),
      get: jest.fn(partialImpl.get),
      create: jest.fn(partialImpl.create),
      duplicate: jest.fn(partialImpl.duplicate),
      update: jest.fn(partialImpl.update),
      share: jest.fn(partialImpl.share),
      delete: jest.fn(partialImpl.delete),
      listTrash: jest.fn(partialImpl.listTrash),
      restore: jest.fn(partialImpl.restore),
      purge: jest.fn(partialImpl.purge),
      saveVersion: jest.fn(partialImpl.saveVersion),
      restoreVersion: jest.fn(partialImpl.restoreVersion),
      updateVersion: jest.fn(partialImpl.updateVersion),
      listVersions: jest.fn(partialImpl.listVersions),
      getVersion: jest.fn(partialImpl.getVersion),
      getLatestVersion: jest.fn(partialImpl.getLatestVersion),
      compareVersions: jest.fn(partialImpl.compareVersions),
      importMockups: jest.fn(partialImpl.importMockups),
    };
    const createMock = createServiceMock(mockupStoreServiceRef, () => ({
      forTenant: jest.fn(),
      forDefaultTenant: jest.fn(),
    }));
    return Object.assign(
      createMock({ forTenant: () => store, forDefaultTenant: () => store }),
      { store },
    );
  };
}
