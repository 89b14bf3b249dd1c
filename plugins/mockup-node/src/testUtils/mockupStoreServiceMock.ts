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
  mockupStoreServiceRef,
} from 'backstage-plugin-mockup-node';
import { InMemoryMockupStore } from './InMemoryMockupStore';

/**
 * Creates a mockup store that keeps everything in memory. With valid input it
 * behaves like the plugin's.
 *
 * @public
 */
export function mockupStoreServiceMock(): MockupStore {
  return new InMemoryMockupStore();
}

/**
 * Stand-ins for the mockup store in tests of other backend plugins.
 *
 * @public
 */
export namespace mockupStoreServiceMock {
  /**
   * A service factory for `startTestBackend`, around the given store or a new
   * one in memory.
   */
  export const factory = (
    options: { store?: MockupStore } = {},
  ): ServiceFactory<MockupStore, 'root'> =>
    createServiceFactory({
      service: mockupStoreServiceRef,
      deps: {},
      factory: () => options.store ?? new InMemoryMockupStore(),
    });

  /** A store whose operations are `jest.fn()`s. */
  export const mock: (
    partialImpl?: Partial<MockupStore>,
  ) => ServiceMock<MockupStore> = createServiceMock(
    mockupStoreServiceRef,
    () => ({
      list: jest.fn(),
      get: jest.fn(),
      create: jest.fn(),
      update: jest.fn(),
      delete: jest.fn(),
      saveVersion: jest.fn(),
      listVersions: jest.fn(),
      getVersion: jest.fn(),
      getLatestVersion: jest.fn(),
    }),
  );
}
