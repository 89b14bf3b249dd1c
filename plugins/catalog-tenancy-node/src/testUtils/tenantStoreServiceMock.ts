import {
  createServiceFactory,
  type ServiceFactory,
} from '@backstage/backend-plugin-api';
import {
  createServiceMock,
  type ServiceMock,
} from '@backstage/backend-test-utils';
import {
  type TenantDirectory,
  type TenantStore,
  tenantStoreServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
import { InMemoryTenantStore } from './InMemoryTenantStore';

/**
 * Creates a registry of tenants that keeps everything in memory, and the directory
 * to it. It begins with the default tenant. With valid input it does what the one
 * on PostgreSQL does, except that no tenant holds anything.
 *
 * @public
 */
export function tenantStoreServiceMock(): TenantStore & TenantDirectory {
  return new InMemoryTenantStore();
}

/**
 * Stand-ins for the registry of tenants in tests of other backend plugins.
 *
 * @public
 */
export namespace tenantStoreServiceMock {
  /**
   * A service factory for `startTestBackend`, around the given registry or a new one
   * in memory, which all plugins then share.
   */
  export const factory = (
    options: { store?: TenantStore } = {},
  ): ServiceFactory<TenantStore, 'plugin'> => {
    const store = options.store ?? new InMemoryTenantStore();
    return createServiceFactory({
      service: tenantStoreServiceRef,
      deps: {},
      factory: () => store,
    });
  };

  /** A registry whose operations are `jest.fn()`s. */
  export const mock: (
    partialImpl?: Partial<TenantStore>,
  ) => ServiceMock<TenantStore> = createServiceMock(
    tenantStoreServiceRef,
    () => ({
      list: jest.fn(),
      get: jest.fn(),
      create: jest.fn(),
      update: jest.fn(),
      delete: jest.fn(),
      restore: jest.fn(),
      usage: jest.fn(),
      countEntities: jest.fn(),
    }),
  );
}
