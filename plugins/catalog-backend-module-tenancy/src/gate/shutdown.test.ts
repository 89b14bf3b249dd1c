import {
  coreServices,
  createBackendPlugin,
} from '@backstage/backend-plugin-api';
import { startCatalogBackend } from '@internal/catalog-testing/startCatalogBackend';
import { createTenancyDatabase } from '@internal/catalog-testing/tenancyDatabase';
import { createTestDatabases, waitUntil } from '@internal/postgres/testUtils';
import {
  catalogStoreServiceRef,
  tenantGateServiceRef,
  tenantOf,
} from 'backstage-plugin-catalog-tenancy-node';
import { mockCredentials } from '@backstage/backend-test-utils';
import request from 'supertest';

const databases = createTestDatabases({ versions: 'newest' });

const STATEMENTS = 20;

/** Answers by many statements, the first of which is sent when the backend stops. */
function slowPlugin(onRequest: () => void) {
  return createBackendPlugin({
    pluginId: 'slow',
    register(env) {
      env.registerInit({
        deps: {
          gate: tenantGateServiceRef,
          httpRouter: coreServices.httpRouter,
          lifecycle: coreServices.rootLifecycle,
          store: catalogStoreServiceRef,
        },
        async init({ gate, httpRouter, lifecycle, store }) {
          gate.declareTenantAware();
          const stops = new Promise<void>(resolve => {
            lifecycle.addBeforeShutdownHook(() => resolve());
          });
          const answer = async (tenantId: string) => {
            onRequest();
            await stops;
            for (let i = 0; i < STATEMENTS; i += 1) {
              await store.listEntities(tenantId, 'Component');
            }
          };
          httpRouter.use((req, res, next) => {
            answer(tenantOf(req).tenantId).then(() => res.json('whole'), next);
          });
        },
      });
    },
  });
}

describe.each(databases.eachSupportedId())('a backend that stops on %s', id => {
  it('answers the requests that are under way', async () => {
    const connection = await createTenancyDatabase(databases, id);
    let requests = 0;
    const { server, stop } = await startCatalogBackend({
      connection,
      enabled: true,
      features: [
        slowPlugin(() => {
          requests += 1;
        }),
      ],
    });
    const answer = request(server)
      .get('/api/slow')
      .set('Authorization', mockCredentials.user.header())
      .then(({ status, text }) => ({ status, text }));
    await waitUntil('the request to be under way', () => requests > 0);
    await stop();
    await expect(answer).resolves.toEqual({ status: 200, text: '"whole"' });
  });
});
