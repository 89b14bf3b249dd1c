import {
  type BackendFeature,
  coreServices,
  createBackendModule,
  createBackendPlugin,
  createServiceFactory,
} from '@backstage/backend-plugin-api';
import { actionsRegistryServiceRef } from '@backstage/backend-plugin-api/alpha';
import {
  mockCredentials,
  mockServices,
  startTestBackend,
} from '@backstage/backend-test-utils';
import {
  type CatalogStore,
  catalogStoreServiceRef,
  DEFAULT_TENANT_ID,
  readTenancyConfig,
  TenancyPool,
  TenantLimits,
  tenancyServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
import { tenantDirectoryServiceMock } from 'backstage-plugin-catalog-tenancy-node/testUtils';
import request from 'supertest';
import tenancyModule from '..';
import {
  classifiedPlugin,
  membersFactory,
} from './__testUtils__/startGatedBackend';

/** Stands in for the stock catalog: it answers every request that reaches it. */
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
      limits: new TenantLimits(),
      adoption: {
        isComplete: true,
        complete: async () => {},
        retryFaults: async () => {},
      },
    };
  },
});

const tenants = tenantDirectoryServiceMock.factory({
  tenants: [
    { tenantId: DEFAULT_TENANT_ID, tenantSlug: 'default' },
    {
      tenantId: '00000000-0000-4000-8000-00000000000a',
      tenantSlug: 'acme',
    },
  ],
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

/** Of which nothing is asked. */
const emptyStore = createServiceFactory({
  service: catalogStoreServiceRef,
  deps: {},
  factory: () => ({} as CatalogStore),
});

/** Modules with nothing to wait for, and with routes that know no tenants. */
const otherModules = [
  createBackendModule({
    pluginId: 'catalog',
    moduleId: 'with-a-route',
    register(env) {
      env.registerInit({
        deps: { httpRouter: coreServices.httpRouter },
        async init({ httpRouter }) {
          httpRouter.use((req, res, next) =>
            req.path === '/unprocessed' ? res.json(['reached']) : next(),
          );
        },
      });
    },
  }),
  createBackendModule({
    pluginId: 'catalog',
    moduleId: 'with-permissions',
    register(env) {
      env.registerInit({
        deps: { registry: coreServices.permissionsRegistry },
        async init() {},
      });
    },
  }),
  createBackendModule({
    pluginId: 'catalog',
    moduleId: 'with-actions',
    register(env) {
      env.registerInit({
        deps: { registry: actionsRegistryServiceRef },
        async init() {},
      });
    },
  }),
];

/** A backend that goes on without the modules that fail. */
async function start(options: {
  enabled: string;
  appBaseUrl?: string;
  /** Added before all others. */
  earlier?: BackendFeature[];
  features?: BackendFeature[];
  /** Other plugins. */
  others?: BackendFeature[];
}) {
  const { enabled, appBaseUrl = 'http://localhost' } = options;
  const { earlier = [], features = [], others = [] } = options;
  const { server } = await startTestBackend({
    features: [
      ...earlier,
      catalogPlugin,
      tenancyModule,
      tenancy,
      membersFactory(),
      ...features,
      ...others,
      mockServices.rootConfig.factory({
        data: {
          app: { baseUrl: appBaseUrl },
          backend: {
            baseUrl: 'http://localhost:0',
            startup: { default: { onPluginModuleBootFailure: 'continue' } },
          },
          tenancy: { enabled },
        },
      }),
    ],
  });
  return (path: string, tenantSlug = 'default', plugin = '/api/catalog') =>
    request(server)
      .get(`${plugin}${path}`)
      .set('X-Tenant-Slug', tenantSlug)
      .set('Authorization', mockCredentials.user.header());
}

describe('where Backstage goes on without the module that answers for tenants', () => {
  const broken = { features: [noStore, tenants] };

  it('nothing reaches the stock catalog', async () => {
    const get = await start({ enabled: 'true', ...broken });
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

  it('all other plugins have their gate', async () => {
    const get = await start({
      enabled: 'true',
      ...broken,
      others: [classifiedPlugin('other')],
    });
    const other = async (tenantSlug: string) =>
      (await get('/credentials', tenantSlug, '/api/other')).text;
    expect(await other('default')).toBe('"reached"');
    expect(await other('nobody')).toBe('{"error":"Invalid tenant"}');
    expect(await other('acme')).toMatch(/The plugin 'other' is not available/);
  });

  it('the stock catalog answers with the flag off', async () => {
    const get = await start({ enabled: 'false', ...broken });
    expect((await get('/entities')).body).toEqual(['reached']);
  });
});

it('a backend whose gates can not tell its hosts does not start', async () => {
  await expect(
    start({ enabled: 'true', appBaseUrl: 'no URL' }),
  ).rejects.toThrow(/Invalid configuration value 'no URL' at 'app.baseUrl'/);
});

describe('where other modules of the catalog have routes', () => {
  const services = [emptyStore, tenants];

  it.each([
    ['before', { earlier: otherModules, features: services }],
    ['after', { features: [...services, ...otherModules] }],
  ])(
    'those are for the default tenant only: modules added %s this one',
    async (_where, how) => {
      const get = await start({ enabled: 'true', ...how });
      for (const path of [
        '/unprocessed',
        '/.well-known/backstage/permissions/metadata',
        '/.backstage/actions/v1/actions',
        '/locations',
      ]) {
        const { status, body } = await get(path, 'acme');
        expect({ path, status }).toEqual({ path, status: 403 });
        expect(body.error.message).toMatch(/is not available to the tenant/);
        await get(path, 'default').expect(200);
        await get(path, 'nobody').expect(403, '{"error":"Invalid tenant"}');
      }
    },
  );
});
