/**
 * Serves the catalog of the tenant that a request belongs to.
 *
 * @packageDocumentation
 */

import { createBackendFeatureLoader } from '@backstage/backend-plugin-api';
import { catalogModuleTenancy, catalogModuleTenancyRoutes } from './module';
import { tenantTokenHandler } from './resolution';

export {
  createTenantMiddleware,
  requestTenant,
  tenantTokenHandler,
  type TenantMiddlewareOptions,
} from './resolution';

/**
 * Everything that makes a catalog one of tenants: the modules of the plugin
 * `catalog`, and the handler that takes the tokens of tenants for credentials.
 *
 * @public
 */
export default createBackendFeatureLoader({
  loader: () => [
    catalogModuleTenancy,
    catalogModuleTenancyRoutes,
    tenantTokenHandler,
  ],
});
