import {
  createServiceFactory,
  type ServiceFactory,
} from '@backstage/backend-plugin-api';
import {
  createServiceMock,
  type ServiceMock,
} from '@backstage/backend-test-utils';
import {
  type ActiveTenant,
  DEFAULT_TENANT_ID,
  DEFAULT_TENANT_SLUG,
  type TenantDirectory,
  tenantDirectoryServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';

const DEFAULT_TENANT: ActiveTenant = {
  tenantId: DEFAULT_TENANT_ID,
  tenantSlug: DEFAULT_TENANT_SLUG,
};

/**
 * Creates a directory of the given tenants; by default, of the default tenant.
 *
 * @public
 */
export function tenantDirectoryServiceMock(
  options: { tenants?: ActiveTenant[] } = {},
): TenantDirectory {
  const { tenants = [DEFAULT_TENANT] } = options;
  return {
    findActive: async slug => {
      const found = tenants.find(({ tenantSlug }) => tenantSlug === slug);
      return found && { ...found };
    },
    forget: () => {},
  };
}

/**
 * Mocks of the directory of tenants for tests of other backend plugins.
 *
 * @public
 */
export namespace tenantDirectoryServiceMock {
  /**
   * A service factory for `startTestBackend` with the given directory, or one of the given
   * tenants.
   */
  export const factory = (
    options: { directory?: TenantDirectory; tenants?: ActiveTenant[] } = {},
  ): ServiceFactory<TenantDirectory, 'root'> =>
    createServiceFactory({
      service: tenantDirectoryServiceRef,
      deps: {},
      factory: () => options.directory ?? tenantDirectoryServiceMock(options),
    });

  /** A directory whose operations are `jest.fn()`s. */
  export const mock: (
    partialImpl?: Partial<TenantDirectory>,
  ) => ServiceMock<TenantDirectory> = createServiceMock(
    tenantDirectoryServiceRef,
    () => ({ findActive: jest.fn(), forget: jest.fn() }),
  );
}
