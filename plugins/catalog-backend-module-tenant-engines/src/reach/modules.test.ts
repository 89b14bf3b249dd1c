import { schedulerServiceFactory } from '@backstage/backend-defaults/scheduler';
import {
  type CatalogBackend,
  startCatalogBackend,
} from '@internal/catalog-testing/startCatalogBackend';
import { createTenancyDatabase } from '@internal/catalog-testing/tenancyDatabase';
import { TestServer } from '@internal/catalog-testing/TestServer';
import { createTestDatabases, eventually } from '@internal/postgres/testUtils';
import {
  coreServices,
  createBackendModule,
} from '@backstage/backend-plugin-api';
import { tenantEngines } from '..';

const databases = createTestDatabases({ versions: 'newest' });

/** Answers with what it was asked for, or leads elsewhere. */
const startHost = (location?: string) =>
  new TestServer((req, res) => {
    if (location) {
      res.writeHead(302, { location });
    }
    res.end(req.url);
  }).listen();

describe.each(databases.eachSupportedId())(
  'a module of the engine of a tenant on %s',
  id => {
    const servers: TestServer[] = [];
    /** What came of each request, by its purpose and the tenant's slug. */
    const outcomes = new Map<string, string>();
    let backend: CatalogBackend;

    const outcomesOf = (slug: string) =>
      Object.fromEntries(
        [...outcomes]
          .filter(([key]) => key.endsWith(` of ${slug}`))
          .map(([key, outcome]) => [key.replace(` of ${slug}`, ''), outcome]),
      );

    beforeAll(async () => {
      const secret = await startHost();
      const ofModules = await startHost();
      const listed = await startHost();
      const leading = await startHost(`${secret.url}/led`);
      servers.push(secret, ofModules, listed, leading);

      const provider = createBackendModule({
        pluginId: 'catalog',
        moduleId: 'fetching-provider',
        register(env) {
          env.registerInit({
            deps: {
              config: coreServices.rootConfig,
              discovery: coreServices.discovery,
              scheduler: coreServices.scheduler,
            },
            async init({ config, discovery, scheduler }) {
              const slug =
                config.getOptionalString('catalog.providers.test.slug') ??
                'acme';
              const ask = async (purpose: string, url: string) => {
                const outcome = await fetch(url).then(
                  response => response.status,
                  error => error.name,
                );
                outcomes.set(`${purpose} of ${slug}`, String(outcome));
              };
              await ask('start', `${secret.url}/`);
              await scheduler.scheduleTask({
                id: 'fetch',
                frequency: { hours: 1 },
                timeout: { minutes: 1 },
                async fn() {
                  await ask('unlisted', `${secret.url}/`);
                  await ask('led', `${leading.url}/`);
                  await ask('listed', `${listed.url}/`);
                  await ask('of modules', `${ofModules.url}/`);
                  const catalog = await discovery.getBaseUrl('catalog');
                  await ask('this backend', `${catalog}/entities`);
                },
              });
            },
          });
        },
      });

      const slugs = ['acme', 'globex'];
      backend = await startCatalogBackend({
        connection: await createTenancyDatabase(databases, id),
        enabled: true,
        config: {
          backend: {
            reading: {
              allow: [{ host: listed.host }, { host: leading.host }],
            },
          },
          tenancy: {
            engines: { allow: [{ host: ofModules.host }] },
            tenants: {
              globex: { catalog: { providers: { test: { slug: 'globex' } } } },
            },
          },
        },
        features: [
          schedulerServiceFactory,
          tenantEngines({ features: [provider] }),
        ],
      });
      for (const slug of slugs) {
        await backend.tenants.create({ tenant_slug: slug, tenant_name: slug });
      }
    });

    afterAll(async () => {
      await backend?.stop();
      await Promise.all(servers.map(server => server.stop()));
    });

    it('connects to no host inside of a network that the operator has not listed', async () => {
      await eventually(() =>
        expect(outcomesOf('acme')).toEqual({
          start: 'NotAllowedError',
          unlisted: 'NotAllowedError',
          led: 'NotAllowedError',
          listed: '200',
          'of modules': '200',
          'this backend': expect.stringMatching(/^\d+$/),
        }),
      );
    });

    it('connects to any where app-config feeds the engine', async () => {
      await eventually(() =>
        expect(outcomesOf('globex')).toMatchObject({
          start: '200',
          unlisted: '200',
          led: '200',
        }),
      );
    });
  },
);
