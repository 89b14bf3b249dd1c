import {
  coreServices,
  createServiceFactory,
  createServiceRef,
} from '@backstage/backend-plugin-api';
import { CachingTenantDirectory, type TenantDirectory } from '../tenants';
import { tenancyServiceRef } from './tenancyServiceRef';

/**
 * Finds the tenant of a request by its slug.
 *
 * @public
 */
export const tenantDirectoryServiceRef = createServiceRef<TenantDirectory>({
  id: 'catalog-tenancy.directory',
  scope: 'root',
  defaultFactory: async service =>
    createServiceFactory({
      service,
      deps: {
        tenancy: tenancyServiceRef,
        logger: coreServices.rootLogger,
        lifecycle: coreServices.rootLifecycle,
      },
      factory({ tenancy, logger, lifecycle }) {
        const { pool } = tenancy;
        const directory = CachingTenantDirectory.create({ pool, logger });
        lifecycle.addShutdownHook(() => directory.close());
        return directory;
      },
    }),
});
