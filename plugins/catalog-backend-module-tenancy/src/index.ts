/**
 * Serves the catalog of the tenant that a request belongs to.
 *
 * @packageDocumentation
 */

import { createBackendFeatureLoader } from '@backstage/backend-plugin-api';
import { tenancyServiceFactory } from 'backstage-plugin-catalog-tenancy-node';
import { catalogEntranceServiceFactory } from './entrance';
import { catalogModuleTenancy } from './module';
import { tenantTokenHandler } from './resolution';

/**
 * Everything that makes a catalog one of tenants: the module of the plugin `catalog`
 * and what it puts in front of it, the check of the database before anything starts,
 * and the handler that takes the tokens of tenants for credentials.
 *
 * @public
 */
export default createBackendFeatureLoader({
  loader: () => [
    tenancyServiceFactory,
    catalogEntranceServiceFactory,
    catalogModuleTenancy,
    tenantTokenHandler,
  ],
});
