import {
  coreServices,
  createServiceFactory,
  createServiceRef,
  type ServiceFactory,
  type ServiceRef,
} from '@backstage/backend-plugin-api';
import { startTenancy, type Tenancy } from '../startup';

/**
 * The configuration of tenancy, and the one pool that all services work with.
 *
 * With the flag on it is there only once the database is known to keep tenants
 * apart: whatever depends on it fails to start otherwise.
 *
 * @public
 */
export const tenancyServiceRef: ServiceRef<Tenancy, 'root', 'singleton'> =
  createServiceRef<Tenancy>({
    id: 'catalog-tenancy.tenancy',
    scope: 'root',
    defaultFactory: async () => tenancyServiceFactory,
  });

/**
 * Makes the service. A backend that this is added to makes it before it starts any
 * plugin, and does not start at all where that fails, with one error.
 *
 * @public
 */
export const tenancyServiceFactory: ServiceFactory<
  Tenancy,
  'root',
  'singleton'
> = createServiceFactory({
  service: tenancyServiceRef,
  deps: {
    config: coreServices.rootConfig,
    logger: coreServices.rootLogger,
    lifecycle: coreServices.rootLifecycle,
  },
  factory: startTenancy,
});
