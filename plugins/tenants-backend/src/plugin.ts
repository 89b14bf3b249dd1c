import {
  coreServices,
  createBackendPlugin,
} from '@backstage/backend-plugin-api';
import { metricsServiceRef } from '@backstage/backend-plugin-api/alpha';
import {
  tenantPermissions,
  tenantStoreServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
import { Administrators } from './authorization/Administrators';
import { createRouter } from './http/createRouter';
import { createOperations } from './http/operations';

/**
 * The registry of tenants, at `/api/tenants`.
 *
 * @public
 */
export const tenantsPlugin = createBackendPlugin({
  pluginId: 'tenants',
  register(env) {
    env.registerInit({
      deps: {
        auditor: coreServices.auditor,
        config: coreServices.rootConfig,
        httpAuth: coreServices.httpAuth,
        httpRouter: coreServices.httpRouter,
        metrics: metricsServiceRef,
        permissions: coreServices.permissions,
        permissionsRegistry: coreServices.permissionsRegistry,
        store: tenantStoreServiceRef,
      },
      async init({
        auditor,
        config,
        httpAuth,
        httpRouter,
        metrics,
        permissions,
        permissionsRegistry,
        store,
      }) {
        permissionsRegistry.addPermissions(tenantPermissions);
        const administrators = Administrators.create({ config, permissions });
        const operation = createOperations({
          administrators,
          auditor,
          httpAuth,
          metrics,
        });
        httpRouter.use(createRouter({ operation, store }));
      },
    });
  },
});
