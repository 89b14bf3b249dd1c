import {
  coreServices,
  createServiceFactory,
  createServiceRef,
} from '@backstage/backend-plugin-api';
import { startTenancy, type Tenancy } from '../startup';

/**
 * The configuration of tenancy, and the one pool that all services work with.
 *
 * With the flag on it is there only once the database is known to keep tenants
 * apart: whatever depends on it fails to start otherwise.
 *
 * @internal
 */
export const tenancyServiceRef = createServiceRef<Tenancy>({
  id: 'catalog-tenancy.tenancy',
  scope: 'root',
  defaultFactory: async service =>
    createServiceFactory({
      service,
      deps: {
        config: coreServices.rootConfig,
        logger: coreServices.rootLogger,
        lifecycle: coreServices.rootLifecycle,
      },
      factory: startTenancy,
    }),
});
