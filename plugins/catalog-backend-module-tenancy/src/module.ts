import {
  coreServices,
  createBackendModule,
  createExtensionPoint,
} from '@backstage/backend-plugin-api';
import { metricsServiceRef } from '@backstage/backend-plugin-api/alpha';
import { catalogEntityPermissionResourceRef } from '@backstage/plugin-catalog-node/alpha';
import {
  adminDatabaseServiceRef,
  catalogStoreServiceRef,
  retryAfter,
  tenancyServiceRef,
  tenantDirectoryServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
import type { RequestHandler } from 'express';
import PromiseRouter from 'express-promise-router';
import { AuthorizedCatalogStore } from './authorization/AuthorizedCatalogStore';
import { schedulePurge } from './purge/schedulePurge';
import { createTenantMiddleware } from './resolution';
import { createRouter } from './routes/createRouter';
import { createOperations } from './routes/operations';
import { refuseOtherTenants } from './routes/refuseOtherTenants';

interface TenantRoutesExtensionPoint {
  /** Answers requests of any tenant, before those of most are refused. */
  use(handler: RequestHandler): void;
}

const tenantRoutesExtensionPoint =
  createExtensionPoint<TenantRoutesExtensionPoint>({
    id: 'catalog.tenancy.routes',
  });

/**
 * Stands in front of the catalog: resolves each request to its tenant, and with the
 * flag on lets only the default tenant through to the stock catalog.
 *
 * It is a module of its own because it has to be the first to mount anything. The
 * registry of permissions mounts routes too, as soon as some module asks for it:
 * they read the rows of the stock catalog, and go past whatever comes after them.
 */
export const catalogModuleTenancy = createBackendModule({
  pluginId: 'catalog',
  moduleId: 'tenancy',
  register(env) {
    const tenantRoutes = PromiseRouter();
    env.registerExtensionPoint(tenantRoutesExtensionPoint, {
      use: handler => {
        tenantRoutes.use(handler);
      },
    });
    env.registerInit({
      deps: {
        config: coreServices.rootConfig,
        directory: tenantDirectoryServiceRef,
        httpRouter: coreServices.httpRouter,
        logger: coreServices.logger,
        metrics: metricsServiceRef,
        tenancy: tenancyServiceRef,
      },
      async init({ config, directory, httpRouter, logger, metrics, tenancy }) {
        const router = PromiseRouter();
        router.use(
          createTenantMiddleware({
            config,
            directory,
            logger,
            metrics,
            tenancy: tenancy.config,
          }),
        );
        if (tenancy.config.enabled) {
          router.use(tenantRoutes);
          router.use(refuseOtherTenants());
        }
        router.use(retryAfter());
        httpRouter.use(router);
      },
    });
  },
});

/** Answers the requests of all tenants for entities, and purges deleted ones. */
export const catalogModuleTenancyRoutes = createBackendModule({
  pluginId: 'catalog',
  moduleId: 'tenancy-routes',
  register(env) {
    env.registerInit({
      deps: {
        admin: adminDatabaseServiceRef,
        auditor: coreServices.auditor,
        config: coreServices.rootConfig,
        httpAuth: coreServices.httpAuth,
        logger: coreServices.logger,
        permissions: coreServices.permissions,
        permissionsRegistry: coreServices.permissionsRegistry,
        scheduler: coreServices.scheduler,
        store: catalogStoreServiceRef,
        tenancy: tenancyServiceRef,
        tenantRoutes: tenantRoutesExtensionPoint,
      },
      async init({
        admin,
        auditor,
        config,
        httpAuth,
        logger,
        permissions,
        permissionsRegistry,
        scheduler,
        store,
        tenancy,
        tenantRoutes,
      }) {
        if (!tenancy.config.enabled) {
          return;
        }
        const operations = createOperations({
          auditor,
          httpAuth,
          authorize: credentials =>
            new AuthorizedCatalogStore({
              credentials,
              permissions,
              store,
              getRuleset: () =>
                permissionsRegistry.getPermissionRuleset(
                  catalogEntityPermissionResourceRef,
                ),
            }),
        });
        tenantRoutes.use(createRouter(operations));
        await schedulePurge({ admin, config, logger, scheduler });
      },
    });
  },
});
