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
  tenantDirectoryServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
import { adoptCatalog } from './adoption/adoptCatalog';
import { scheduleRetries } from './adoption/scheduleRetries';
import { untilAdopted } from './adoption/untilAdopted';
import { AuthorizedCatalogStore } from './authorization/AuthorizedCatalogStore';
import { countReads } from './countReads';
import { catalogEntranceServiceRef } from './entrance';
import { schedulePurge } from './purge/schedulePurge';
import { createTenantMiddleware } from './resolution';
import { createRouter } from './routes/createRouter';
import { markWrites } from './routes/markWrites';
import { createOperations } from './routes/operations';
import { refuseOtherTenants } from './routes/refuseOtherTenants';

/**
 * Resolves each request to its tenant, and with the flag on answers what is asked of
 * any tenant's entities, lets only the default tenant through to the stock catalog,
 * adopts that, and purges deleted entities.
 */
export const catalogModuleTenancy = createBackendModule({
  pluginId: 'catalog',
  moduleId: 'tenancy',
  register(env) {
    env.registerInit({
      deps: {
        admin: adminDatabaseServiceRef,
        auditor: coreServices.auditor,
        config: coreServices.rootConfig,
        directory: tenantDirectoryServiceRef,
        entrance: catalogEntranceServiceRef,
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
      },
      async init({
        admin,
        auditor,
        config,
        directory,
        entrance,
        httpAuth,
        lifecycle,
        logger,
        metrics,
        permissions,
        permissionsRegistry,
        rootLifecycle,
        scheduler,
        store,
        tenancy,
      }) {
        const { router } = entrance;
        router.use(
          createTenantMiddleware({
            config,
            directory,
            logger,
            metrics,
            tenancy: tenancy.config,
          }),
        );
        if (!tenancy.config.enabled) {
          return;
        }
        const operations = createOperations({
          auditor,
          directory,
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
        const { adoption } = tenancy;
        router.use(createRouter(untilAdopted(operations, adoption)));
        router.use(refuseOtherTenants());
        if (tenancy.replica) {
          router.use(markWrites(tenancy.replica));
          countReads(metrics, tenancy.replica);
        }
        router.use(retryAfter());
        entrance.open();
        adoptCatalog({ adoption, lifecycle, rootLifecycle, logger });
        await scheduleRetries({ adoption, scheduler });
        await schedulePurge({ admin, config, logger, scheduler });
      },
    });
  },
});
