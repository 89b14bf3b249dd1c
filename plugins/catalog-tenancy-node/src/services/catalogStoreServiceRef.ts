import {
  createServiceFactory,
  createServiceRef,
} from '@backstage/backend-plugin-api';
import type { CatalogStore } from '../catalog';
import { PostgresCatalogStore } from '../catalog/PostgresCatalogStore';
import type { TenantDatabase } from '../database';
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
        new PostgresCatalogStore({
          database: readingFromReplica(database),
          pool: tenancy.pool,
        }),
    }),
});

/** The store's queries only read: what it writes, it writes in transactions. */
function readingFromReplica(database: TenantDatabase): TenantDatabase {
  return {
    query: (tenantId, build) =>
      database.query(tenantId, build, { mayBeStale: true }),
    transaction: (tenantId, work) => database.transaction(tenantId, work),
  };
}
