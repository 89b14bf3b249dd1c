import {
  coreServices,
  createBackendModule,
} from '@backstage/backend-plugin-api';
import { metricsServiceRef } from '@backstage/backend-plugin-api/alpha';
import { catalogEntityPermissionResourceRef } from '@backstage/plugin-catalog-node/alpha';
import {
  adminDatabaseServiceRef,
  catalogStoreServiceRef,
  retryAfter,
  tenancyServiceRef,
  tenantAuditTrailServiceRef,
  tenantEnginesServiceRef,
  tenantGateServiceRef,
  tenantUsageServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
import { adoptCatalog } from './adoption/adoptCatalog';
import {
  AuthorizedCatalogStore,
  SharedDecisions,
} from './authorization/AuthorizedCatalogStore';
import { catalogRouterServiceRef } from './catalogRouter';
import { exportMetrics } from './metrics';
import { applyConditions } from './routes/applyConditions';
import { createRouter } from './routes/createRouter';
import { markWrites } from './replica/markWrites';
import { createOperations } from './routes/operations';
import { forwardOtherTenants } from './routes/otherTenants';
import { scheduleTasks } from './scheduleTasks';

/**
 * With the flag on, answers reads of all tenants' entities, forwards other requests of the
 * default tenant to the stock catalog, adopts that catalog, and purges deleted entities.
 */
export const catalogModuleTenancy = createBackendModule({
  pluginId: 'catalog',
  moduleId: 'tenancy',
  register(env) {
    env.registerInit({
      deps: {
        admin: adminDatabaseServiceRef,
        auth: coreServices.auth,
        auditor: coreServices.auditor,
        engines: tenantEnginesServiceRef,
        catalogRouter: catalogRouterServiceRef,
        gate: tenantGateServiceRef,
        httpAuth: coreServices.httpAuth,
        lifecycle: coreServices.lifecycle,
        logger: coreServices.logger,
        metrics: metricsServiceRef,
        permissions: coreServices.permissions,
        permissionsRegistry: coreServices.permissionsRegistry,
        rootLifecycle: coreServices.rootLifecycle,
        scheduler: coreServices.scheduler,
        store: catalogStoreServiceRef,
        tenancy: tenancyServiceRef,
        trail: tenantAuditTrailServiceRef,
        usage: tenantUsageServiceRef,
      },
      async init(services) {
        const { engines, metrics, permissions, store, tenancy } = services;
        if (!tenancy.config.enabled) {
          return;
        }
        services.gate.declareTenantAware();
        const { router } = services.catalogRouter;
        const { adoption } = tenancy;
        const getRuleset = () =>
          services.permissionsRegistry.getPermissionRuleset(
            catalogEntityPermissionResourceRef,
          );
        const decisions = new SharedDecisions(permissions, {
          maxAgeMs: tenancy.config.maxDecisionAgeMs,
        });
        const operations = createOperations({
          ...services,
          adoption,
          authorize: (credentials, { req, tenantId, signal }) =>
            new AuthorizedCatalogStore({
              credentials,
              signal,
              permissions: decisions.of(req, tenantId),
              store,
              getRuleset,
            }),
        });
        router.use(createRouter(operations));
        router.use(applyConditions({ ...services, getRuleset }));
        if (tenancy.replica) {
          router.use(markWrites(tenancy.replica));
        }
        router.use(forwardOtherTenants(engines));
        router.use(retryAfter());
        services.catalogRouter.open();
        adoptCatalog({ ...services, adoption });
        exportMetrics(metrics, { ...tenancy, usage: services.usage });
        await scheduleTasks({
          ...services,
          adoption,
          sendsEvents: tenancy.config.audit.webhook !== undefined,
        });
      },
    });
  },
});
