import {
  createServiceFactory,
  createServiceRef,
} from '@backstage/backend-plugin-api';
import type { CatalogStore } from '../catalog';
import { PostgresCatalogStore } from '../catalog/PostgresCatalogStore';
import { tenancyServiceRef } from './tenancyServiceRef';
import { tenantDatabaseServiceRef } from './tenantDatabaseServiceRef';

/**
 * The entities of tenants, for other plugins and modules of the same backend. It
 * asks no permissions: to act as a user, call `/api/catalog` over HTTP.
 *
 * @public
 */
export const catalogStoreServiceRef = createServiceRef<CatalogStore>({
  id: 'catalog-tenancy.catalog-store',
  scope: 'root',
  defaultFactory: async service =>
    createServiceFactory({
      service,
      deps: {
        tenancy: tenancyServiceRef,
        database: tenantDatabaseServiceRef,
      },
      factory: ({ tenancy, database }) =>
        new PostgresCatalogStore({ database, pool: tenancy.pool }),
    }),
});
