import {
  type BackendFeature,
  coreServices,
  createBackendPlugin,
  createServiceFactory,
} from '@backstage/backend-plugin-api';
import {
  mockCredentials,
  mockServices,
  startTestBackend,
} from '@backstage/backend-test-utils';
import {
  type CatalogStore,
  catalogStoreServiceRef,
  readTenancyConfig,
  TenancyPool,
  tenancyServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
import request from 'supertest';
import tenancyModule from '.';

/** Stands in for the stock catalog: it answers whatever reaches it. */
const catalogPlugin = createBackendPlugin({
  pluginId: 'catalog',
  register(env) {
    env.registerInit({
      deps: { httpRouter: coreServices.httpRouter },
      async init({ httpRouter }) {
        httpRouter.use((_req, res) => {
          res.json(['reached']);
        });
      },
    });
  },
});

/** A pool that connects to nothing. */
const tenancy = createServiceFactory({
  service: tenancyServiceRef,
  deps: { config: coreServices.rootConfig, logger: coreServices.rootLogger },
  factory({ config: rootConfig, logger }) {
    const config = readTenancyConfig(rootConfig);
    const { schema, pool } = config;
    return {
      config,
      pool: TenancyPool.create({ connection: {}, schema, pool, logger }),
    };
  },
});

const noStore = createServiceFactory({
  service: catalogStoreServiceRef,
  // As a default factory is.
  initialization: 'lazy',
  deps: {},
  factory(): CatalogStore {
    throw new Error('There is no store');
  },
});

/** A backend that goes on without the modules that fail. */
async function start(options: {
  enabled: string;
  appBaseUrl?: string;
  features?: BackendFeature[];
}) {
  const { enabled, appBaseUrl = 'http://localhost', features = [] } = options;
  const { server } = await startTestBackend({
    features: [
      catalogPlugin,
      tenancyModule,
      tenancy,
      ...features,
      mockServices.rootConfig.factory({
        data: {
          app: { baseUrl: appBaseUrl },
          backend: {
            baseUrl: 'http://localhost',
            startup: { default: { onPluginModuleBootFailure: 'continue' } },
          },
          tenancy: { enabled },
        },
      }),
    ],
  });
  return (path: string) =>
    request(server)
      .get(`/api/catalog${path}`)
      .set('Authorization', mockCredentials.user.header());
}

describe('where Backstage goes on without a module of tenancy', () => {
  it.each([
    ['in front of the catalog', { appBaseUrl: 'no URL' }],
    ['that answers for tenants', { features: [noStore] }],
  ])('nothing reaches the stock catalog: the module %s', async (_name, how) => {
    const get = await start({ enabled: 'true', ...how });
    for (const path of [
      '/entities',
      '/entities/by-query',
      '/Locations/',
      '/.well-known/backstage/permissions/metadata',
    ]) {
      const { status, body } = await get(path);
      expect({ path, status }).toEqual({ path, status: 503 });
      expect(body.error.message).toMatch(/^The catalogs of tenants are not/);
    }
  });

  it('the stock catalog answers with the flag off', async () => {
    const get = await start({ enabled: 'false', features: [noStore] });
    expect((await get('/entities')).body).toEqual(['reached']);
  });
});
