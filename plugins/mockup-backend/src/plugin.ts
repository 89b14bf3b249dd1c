import {
  coreServices,
  createBackendFeatureLoader,
  createBackendPlugin,
  createServiceFactory,
} from '@backstage/backend-plugin-api';
import { metricsServiceRef } from '@backstage/backend-plugin-api/alpha';
import { catalogServiceRef } from '@backstage/plugin-catalog-node';
import {
  type Mockup,
  MOCKUP_LIMITS,
  mockupPermissions,
} from 'backstage-plugin-mockup-common';
import {
  mockupPermissionResourceRef,
  mockupPermissionRules,
  type MockupStore,
  mockupStoreServiceRef,
} from 'backstage-plugin-mockup-node';
import {
  currentTenant,
  readTenancyConfig,
  requestsUnderWayServiceRef,
  tenantGateServiceRef,
  tenantOf,
} from 'backstage-plugin-catalog-tenancy-node';
import { AuthorizedMockupStore } from './authorization/AuthorizedMockupStore';
import { MockupDecisions } from './authorization/MockupDecisions';
import { openMockupStores } from './database/openMockupStores';
import { createRouter } from './http/createRouter';
import { createOperations } from './http/operations';
import { AuthorizedPages } from './pages/AuthorizedPages';
import { applyRetention } from './retention/applyRetention';
import { readMockupConfig } from './readMockupConfig';
import { AuthorizedReview } from './review/AuthorizedReview';
import { createNotifyMentioned } from './review/notifyMentioned';
import { StoreHandover } from './StoreHandover';

/**
 * The mockup backend plugin, with the service that gives other plugins of the backend access to
 * its stores.
 *
 * @public
 */
export const mockupPlugin = createBackendFeatureLoader({
  loader() {
    const handover = new StoreHandover();
    return [
      createPlugin(handover),
      createServiceFactory({
        service: mockupStoreServiceRef,
        deps: {},
        factory: () => handover.stores,
      }),
    ];
  },
});

function createPlugin(handover: StoreHandover) {
  return createBackendPlugin({
    pluginId: 'mockup',
    register(env) {
      env.registerInit({
        deps: {
          auditor: coreServices.auditor,
          auth: coreServices.auth,
          catalog: catalogServiceRef,
          config: coreServices.rootConfig,
          database: coreServices.database,
          discovery: coreServices.discovery,
          httpAuth: coreServices.httpAuth,
          httpRouter: coreServices.httpRouter,
          lifecycle: coreServices.rootLifecycle,
          logger: coreServices.logger,
          metrics: metricsServiceRef,
          permissions: coreServices.permissions,
          permissionsRegistry: coreServices.permissionsRegistry,
          requests: requestsUnderWayServiceRef,
          scheduler: coreServices.scheduler,
          tenantGate: tenantGateServiceRef,
          userInfo: coreServices.userInfo,
        },
        async init({
          auditor,
          auth,
          catalog,
          config,
          database,
          discovery,
          httpAuth,
          httpRouter,
          lifecycle,
          logger,
          metrics,
          permissions,
          permissionsRegistry,
          requests,
          scheduler,
          tenantGate,
          userInfo,
        }) {
          const { importBounds, retention } = readMockupConfig(config);
          tenantGate.declareTenantAware();
          const multiTenant = readTenancyConfig(config).enabled;
          const stores = await handover.open(() =>
            openMockupStores({
              database,
              logger,
              multiTenant,
              trashRetentionMs: retention.trashMs,
            }),
          );
          lifecycle.addShutdownHook(async () => {
            await requests.answered();
            await stores.close();
          });
          const ofRequest = () => {
            if (!multiTenant) {
              return stores.forDefaultTenant();
            }
            const tenant = currentTenant();
            if (!tenant) {
              throw new Error('There is no tenant outside of a request');
            }
            return stores.forTenant(tenant.tenantId);
          };

          permissionsRegistry.addResourceType({
            resourceRef: mockupPermissionResourceRef,
            permissions: mockupPermissions,
            rules: Object.values(mockupPermissionRules),
            // Backstage does not pass the request.
            getResources: ids => getMockups(ofRequest(), ids),
          });
          const ruleset = permissionsRegistry.getPermissionRuleset(
            mockupPermissionResourceRef,
          );

          const notify = createNotifyMentioned({
            auth,
            catalog,
            discovery,
            logger,
          });
          const operations = createOperations({
            auditor,
            gate: tenantGate,
            httpAuth,
            metrics,
            authorize: (credentials, req) => {
              const { tenantId } = tenantOf(req);
              const decisions = new MockupDecisions({
                credentials,
                permissions,
                ruleset,
              });
              return {
                mockups: new AuthorizedMockupStore({
                  decisions,
                  store: stores.forTenant(tenantId),
                }),
                pages: new AuthorizedPages({
                  credentials,
                  decisions,
                  store: stores.pagesOf(tenantId),
                  userInfo,
                }),
                review: new AuthorizedReview({
                  credentials,
                  decisions,
                  store: stores.reviewsOf(tenantId),
                }),
                notifyMentioned: comment => notify(comment, req, credentials),
              };
            },
          });
          httpRouter.use(createRouter(operations, { importBounds }));

          const knex = await database.getClient();
          await scheduler.scheduleTask({
            id: 'mockup-retention',
            frequency: { hours: 1 },
            initialDelay: { minutes: 5 },
            timeout: { minutes: 30 },
            fn: signal => applyRetention({ knex, logger, retention, signal }),
          });
        },
      });
    },
  });
}

/**
 * Loads the mockups for the permission rules, in the order of the ids. Includes the trash,
 * because pages ask who may restore a mockup.
 */
async function getMockups(store: MockupStore, ids: string[]) {
  const found = new Map<string, Mockup>();
  for (let start = 0; start < ids.length; start += MOCKUP_LIMITS.pageSize) {
    const some = {
      filter: { id: ids.slice(start, start + MOCKUP_LIMITS.pageSize) },
      limit: MOCKUP_LIMITS.pageSize,
    };
    for (const { items } of [
      await store.list(some),
      await store.listTrash(some),
    ]) {
      items.forEach(mockup => found.set(mockup.id, mockup));
    }
  }
  // PostgreSQL returns UUIDs in lower case.
  return ids.map(id => found.get(id.toLowerCase()));
}
