import {
  createServiceMock,
  type ServiceMock,
} from '@backstage/backend-test-utils';
import {
  type MockupStore,
  type MockupStores,
  mockupStoreServiceRef,
} from 'backstage-plugin-mockup-node';

/**
 * Stand-ins for the mockup stores in tests of other backend plugins.
 *
 * @public
 */
export namespace mockupStoreServiceMock {
  /**
   * Stores whose operations are `jest.fn()`s: those of `store`, whatever the tenant.
   * `forTenant` tells for which it was called, and `factory` adds them to a backend.
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
