import {
  createServiceFactory,
  type ServiceFactory,
} from '@backstage/backend-plugin-api';
import {
  createServiceMock,
  type ServiceMock,
} from '@backstage/backend-test-utils';
import {
  type TenantDatabase,
  tenantDatabaseServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';

/**
 * Stand-ins for the tenant-scoped database in tests of other backend plugins. None
 * of them keeps anything: what keeps tenants apart is PostgreSQL, and a database in
 * memory would only seem to.
 *
 * @public
 */
export namespace tenantDatabaseServiceMock {
  /** A service factory for `startTestBackend`, around the given database. */
  export const factory = (options: {
    database: TenantDatabase;
  }): ServiceFactory<TenantDatabase, 'root'> =>
    createServiceFactory({
      service: tenantDatabaseServiceRef,
      deps: {},
      factory: () => options.database,
    });

  /** A database whose operations are `jest.fn()`s. */
  export const mock: (
    partialImpl?: Partial<TenantDatabase>,
  ) => ServiceMock<TenantDatabase> = createServiceMock(
    tenantDatabaseServiceRef,
    () => ({ query: jest.fn(), transaction: jest.fn() }),
  );
}
