/**
 * Serves the catalog of the tenant of each request.
 *
 * @packageDocumentation
 */

import {
  coreServices,
  createBackendFeatureLoader,
} from '@backstage/backend-plugin-api';
import {
  readTenancyConfig,
  tenancyServiceFactory,
} from 'backstage-plugin-catalog-tenancy-node';
import { callTokensServiceFactory } from './calls/callTokens';
import { catalogRouterServiceFactory } from './catalogRouter';
import {
  gateSettingsServiceFactory,
  tenantGateServiceFactory,
} from './gate/services';
import { rootHealthServiceFactory } from './health/rootHealth';
import { catalogModuleTenancy } from './module';
import {
  assertRestrictedAccess,
  tenantTokenHandler,
} from './resolution/tenantTokenHandler';

export { doctorExamination } from './doctor/doctorExamination';

/**
 * All features of a multi-tenant catalog: the gate in front of every plugin, the module of the
 * plugin `catalog`, the check of the database before plugins start, the health service, the
 * tenants of calls between plugins, and the handler of tenants' tokens.
 *
 * @public
 */
export default createBackendFeatureLoader({
  deps: { config: coreServices.rootConfig },
  loader({ config }) {
    // Before any use of the database, and with one error instead of one for each plugin.
    assertRestrictedAccess(config);
    return [
      tenancyServiceFactory,
      rootHealthServiceFactory,
      gateSettingsServiceFactory,
      tenantGateServiceFactory,
      catalogRouterServiceFactory,
      catalogModuleTenancy,
      tenantTokenHandler,
      // With the flag off, tokens stay Backstage's own.
      ...(readTenancyConfig(config).enabled ? [callTokensServiceFactory] : []),
    ];
  },
});
