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
      async factory({ tenancy, logger, lifecycle }) {
        const { pool, config } = tenancy;
        const directory = CachingTenantDirectory.create({ pool, logger });
        if (!config.enabled) {
          // It answers without listening, on connections that do not stay.
          await directory.close();
        }
        lifecycle.addShutdownHook(() => directory.close());
        return directory;
      },
    }),
});
