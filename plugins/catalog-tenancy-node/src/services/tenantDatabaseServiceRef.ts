import {
  createServiceFactory,
  createServiceRef,
} from '@backstage/backend-plugin-api';
import { PooledTenantDatabase, type TenantDatabase } from '../database';
import { tenancyServiceRef } from './tenancyServiceRef';

/**
 * The database, as one tenant at a time may see it.
 *
 * @public
 */
export const tenantDatabaseServiceRef = createServiceRef<TenantDatabase>({
  id: 'catalog-tenancy.database',
  scope: 'root',
  defaultFactory: async service =>
    createServiceFactory({
      service,
      deps: { tenancy: tenancyServiceRef },
      factory: ({ tenancy: { pool, replica } }) =>
        new PooledTenantDatabase(pool, { replica }),
    }),
});
