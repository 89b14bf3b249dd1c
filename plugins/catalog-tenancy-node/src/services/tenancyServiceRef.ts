import {
  coreServices,
  createServiceFactory,
  createServiceRef,
  type ServiceFactory,
} from '@backstage/backend-plugin-api';
import { startTenancy, type Tenancy } from '../startup/startTenancy';

const deps = {
  config: coreServices.rootConfig,
  logger: coreServices.rootLogger,
  lifecycle: coreServices.rootLifecycle,
};

/**
 * The configuration of tenancy, and the one pool that all services work with.
 *
 * With the flag on it is there only once the database is known to keep tenants
 * apart: whatever depends on it fails to start otherwise.
 *
 * @public
 */
export const tenancyServiceRef = createServiceRef<Tenancy>({
  id: 'catalog-tenancy.tenancy',
  scope: 'root',
  defaultFactory: async service =>
    createServiceFactory({ service, deps, factory: startTenancy }),
});

/**
 * Makes the service. A backend that this is added to makes it before it starts any
 * plugin, and does not start at all where that fails, with one error.
 *
 * @public
 */
export const tenancyServiceFactory: ServiceFactory<Tenancy, 'root'> =
  createServiceFactory({
    service: tenancyServiceRef,
    deps,
    factory: startTenancy,
  });
