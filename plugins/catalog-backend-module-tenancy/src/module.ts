import {
  coreServices,
  createBackendModule,
  type DiscoveryService,
  type LoggerService,
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
import { AuthorizedCatalogStore } from './authorization/AuthorizedCatalogStore';
import { countReads } from './replica/countReads';
import { catalogEntranceServiceRef } from './entrance';
import { schedulePurge } from './purge/schedulePurge';
import { createTenantMiddleware } from './resolution';
import { createRouter } from './routes/createRouter';
import { markWrites } from './replica/markWrites';
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
        discovery: coreServices.discovery,
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
        discovery,
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
            baseUrls: tenancy.config.enabled
              ? await findCatalogUrls(discovery, logger)
              : [],
            directory,
            logger,
            metrics,
            tenancy: tenancy.config,
          }),
        );
        if (!tenancy.config.enabled) {
          return;
        }
        const { adoption } = tenancy;
        const operations = createOperations({
          adoption,
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
        router.use(createRouter(operations));
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

/**
 * The URLs at which other plugins, and frontends, find the catalog: their hosts name no
 * tenant, whatever they are called.
 */
async function findCatalogUrls(
  discovery: DiscoveryService,
  logger: LoggerService,
): Promise<string[]> {
  const found = await Promise.allSettled([
    discovery.getBaseUrl('catalog'),
    discovery.getExternalBaseUrl('catalog'),
  ]);
  return found.flatMap(result => {
    if (result.status === 'fulfilled') {
      return [result.value];
    }
    // Such as one that DNS has to resolve first.
    logger.warn(
      `A URL of the catalog can't be resolved, and its host counts as any other: ${result.reason}`,
    );
    return [];
  });
}
