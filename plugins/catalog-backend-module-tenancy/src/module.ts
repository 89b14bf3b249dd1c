import {
  coreServices,
  createBackendModule,
  createExtensionPoint,
} from '@backstage/backend-plugin-api';
import { metricsServiceRef } from '@backstage/backend-plugin-api/alpha';
import type { Config } from '@backstage/config';
import { ServiceUnavailableError } from '@backstage/errors';
import { catalogEntityPermissionResourceRef } from '@backstage/plugin-catalog-node/alpha';
import {
  adminDatabaseServiceRef,
  catalogStoreServiceRef,
  readTenancyConfig,
  retryAfter,
  tenancyServiceRef,
  tenantDirectoryServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
import PromiseRouter from 'express-promise-router';
import { AuthorizedCatalogStore } from './authorization/AuthorizedCatalogStore';
import { schedulePurge } from './purge/schedulePurge';
import { createTenantMiddleware } from './resolution';
import { createRouter } from './routes/createRouter';
import { createOperations } from './routes/operations';
import { refuseOtherTenants } from './routes/refuseOtherTenants';

/** The routes that answer requests of any tenant, before those of most are refused. */
class TenantRoutes {
  readonly router = PromiseRouter();
  /** Whether requests come here. */
  isMounted = false;
  /** Whether they are answered here. */
  isFilled = false;
}

// Backstage starts the modules that depend on an extension point before the one that
// provides it. So the routes come last: they ask for the registry of permissions,
// which mounts routes of its own as soon as some module asks for it. Those read the
// rows of the stock catalog, and go past whatever comes after them.
const tenantRoutesExtensionPoint = createExtensionPoint<TenantRoutes>({
  id: 'catalog.tenancy.routes',
});

/**
 * Keeps the catalog shut while the flag is on and the tenants' routes are not there:
 * where Backstage is told to go on without modules that fail
 * (`onPluginModuleBootFailure`), the stock catalog would answer in their place.
 */
export const catalogModuleTenancyGate = createBackendModule({
  pluginId: 'catalog',
  moduleId: 'tenancy-gate',
  register(env) {
    env.registerInit({
      // None of them fails for want of a database.
      deps: {
        config: coreServices.rootConfig,
        httpRouter: coreServices.httpRouter,
        tenantRoutes: tenantRoutesExtensionPoint,
      },
      async init({ config, httpRouter, tenantRoutes }) {
        if (isEnabled(config)) {
          httpRouter.use((_req, _res, next) =>
            next(
              tenantRoutes.isMounted && tenantRoutes.isFilled
                ? undefined
                : new ServiceUnavailableError(
                    'The catalogs of tenants are not served: the log says why they did not start',
                  ),
            ),
          );
        }
      },
    });
  },
});

/** With a configuration that nobody understands, nobody knows that it is off. */
function isEnabled(config: Config): boolean {
  try {
    return readTenancyConfig(config).enabled;
  } catch {
    return true;
  }
}

/**
 * Stands in front of the catalog: resolves each request to its tenant, and with the
 * flag on lets only the default tenant through to the stock catalog.
 */
export const catalogModuleTenancy = createBackendModule({
  pluginId: 'catalog',
  moduleId: 'tenancy',
  register(env) {
    env.registerInit({
      deps: {
        config: coreServices.rootConfig,
        directory: tenantDirectoryServiceRef,
        httpRouter: coreServices.httpRouter,
        logger: coreServices.logger,
        metrics: metricsServiceRef,
        tenancy: tenancyServiceRef,
        tenantRoutes: tenantRoutesExtensionPoint,
      },
      async init({
        config,
        directory,
        httpRouter,
        logger,
        metrics,
        tenancy,
        tenantRoutes,
      }) {
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
          router.use(tenantRoutes.router);
          router.use(refuseOtherTenants());
        }
        router.use(retryAfter());
        httpRouter.use(router);
        tenantRoutes.isMounted = true;
      },
    });
  },
});

/** Answers the requests of all tenants for entities, and purges deleted ones. */
export const catalogModuleTenancyRoutes = createBackendModule({
  pluginId: 'catalog',
  moduleId: 'tenancy-routes',
  register(env) {
    const tenantRoutes = new TenantRoutes();
    env.registerExtensionPoint(tenantRoutesExtensionPoint, tenantRoutes);
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
        tenantRoutes.router.use(createRouter(operations));
        tenantRoutes.isFilled = true;
        await schedulePurge({ admin, config, logger, scheduler });
      },
    });
  },
});
