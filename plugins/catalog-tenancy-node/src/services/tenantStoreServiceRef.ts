import {
  createServiceFactory,
  createServiceRef,
} from '@backstage/backend-plugin-api';
import { PostgresTenantStore, type TenantStore } from '../tenants';
import { adminDatabaseServiceRef } from './adminDatabaseServiceRef';
import { tenancyServiceRef } from './tenancyServiceRef';
import { tenantDatabaseServiceRef } from './tenantDatabaseServiceRef';
import { tenantDirectoryServiceRef } from './tenantDirectoryServiceRef';

/**
 * The registry of tenants, for other plugins and modules of the same backend. It
 * asks no permissions: to act as a user, call `/api/tenants` over HTTP.
 *
 * @public
 */
export const tenantStoreServiceRef = createServiceRef<TenantStore>({
  id: 'catalog-tenancy.tenant-store',
  scope: 'plugin',
  defaultFactory: async service =>
    createServiceFactory({
      service,
      deps: {
        tenancy: tenancyServiceRef,
        admin: adminDatabaseServiceRef,
        database: tenantDatabaseServiceRef,
        directory: tenantDirectoryServiceRef,
      },
      factory: ({ tenancy, admin, database, directory }) =>
        new PostgresTenantStore({
          pool: tenancy.pool,
          admin,
          database,
          directory,
        }),
    }),
});
