/**
 * Serves the catalog of the tenant that a request belongs to.
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
 * Everything that makes a catalog one of tenants: the gate in front of every plugin,
 * the module of the plugin `catalog`, the check of the database before anything starts,
 * the answer to probes, the tenants of calls between plugins, and the handler that takes the tokens of tenants
 * for credentials.
 *
 * @public
 */
export default createBackendFeatureLoader({
  deps: { config: coreServices.rootConfig },
  loader({ config }) {
    // Before the database is touched, and with one error in place of one per plugin.
    assertRestrictedAccess(config);
    return [
      tenancyServiceFactory,
      rootHealthServiceFactory,
      gateSettingsServiceFactory,
      tenantGateServiceFactory,
      catalogRouterServiceFactory,
      catalogModuleTenancy,
      tenantTokenHandler,
      // Without tenants, tokens are Backstage's alone.
      ...(readTenancyConfig(config).enabled ? [callTokensServiceFactory] : []),
    ];
  },
});
