import type { CatalogBackend } from '@internal/catalog-testing/startCatalogBackend';
import {
  createTestDatabases,
  eventually,
  waitUntil,
} from '@internal/postgres/testUtils';
import {
  tenantEngineStoreServiceRef,
  type TenantEngineStore,
} from 'backstage-plugin-catalog-tenancy-node';
import {
  coreServices,
  createBackendModule,
} from '@backstage/backend-plugin-api';
import { DatabaseError } from 'pg';
import { componentYaml, SourceServer } from '../__testUtils__/SourceServer';
import { TenantsOfTest } from '../__testUtils__/TenantsOfTest';

const SECRET = 'not-for-anybody-else';

/** A module that tells its secret when it fails, and whose statements meet others. */
const tellTale = createBackendModule({
  pluginId: 'catalog',
  moduleId: 'tell-tale',
  register(env) {
    env.registerInit({
      deps: {
        config: coreServices.rootConfig,
        database: coreServices.database,
        router: coreServices.httpRouter,
      },
      async init({ config, database, router }) {
        const knex = await database.getClient();
        router.use((req, res, next) => {
          if (req.path === '/sorted') {
            knex('locations')
              .orderBy(String(req.query.by ?? 'not_there_yet'))
              .then(rows => res.json(rows), next);
          } else {
            next();
          }
        });
        router.use((req, _res, next) => {
          const [, code, constraint] =
            /^\/fails-with\/(\w+)-?(\w*)/.exec(req.path) ?? [];
          next(
            code &&
              Object.assign(new DatabaseError('delete from x', 0, 'error'), {
                code,
                constraint,
              }),
          );
        });
        const [github] =
          config.getOptionalConfigArray('integrations.github') ?? [];
        const token = github?.getOptionalString('token');
        if (token) {
          throw new Error(`The token ${token} is refused`);
        }
      },
    });
  },
});

const databases = createTestDatabases({ versions: 'newest' });

describe.each(databases.eachSupportedId())('the engines on %s', id => {
  let source: SourceServer;
  let tenants: TenantsOfTest;
  let backend: CatalogBackend;
  let engines: TenantEngineStore;

  beforeAll(async () => {
    source = await new SourceServer().listen();
    process.env.ROUTES_TEST_TOKEN = SECRET;
    tenants = await TenantsOfTest.create(databases, id, [
      'acme',
      'globex',
      'leaky',
      'earlier',
    ]);
    const started = await tenants.start(
      { store: tenantEngineStoreServiceRef },
      {
        config: {
          backend: { reading: { allow: [{ host: source.host }] } },
          tenancy: { tenants: { leaky: { secrets: ['ROUTES_TEST_TOKEN'] } } },
        },
        modules: [tellTale],
        features: [
          // Of the default tenant's catalog alone.
          createBackendModule({
            pluginId: 'catalog',
            moduleId: 'routes-of-the-test',
            register(env) {
              env.registerInit({
                deps: { router: coreServices.httpRouter },
                async init({ router }) {
                  router.use((req, res, next) =>
                    req.path === '/of-the-default-tenant'
                      ? res.json({ of: 'the default tenant' })
                      : next(),
                  );
                },
              });
            },
          }),
        ],
      },
    );
    backend = started.backend;
    engines = started.services.store;
  });

  afterAll(async () => {
    delete process.env.ROUTES_TEST_TOKEN;
    await tenants.close();
    await source.stop();
  });

  const statusOf = (slug: string | undefined, ref: string) =>
    backend
      .as(slug)
      .get(`/entities/by-name/${ref}`)
      .then(({ status }) => status);

  it('serve a location that is registered under a tenant to that tenant alone', async () => {
    const target = source.put('/website.yaml', componentYaml('website'));
    const created = await eventually(async () => {
      const answer = await backend
        .as('acme')
        .post('/locations', { type: 'url', target });
      expect(answer.status).toBe(201);
      return answer;
    });
    expect(created.body.location).toMatchObject({ type: 'url', target });
    await waitUntil(
      'the entity',
      async () => (await statusOf('acme', 'component/default/website')) === 200,
    );
    for (const slug of ['globex', 'default', undefined]) {
      expect(await statusOf(slug, 'component/default/website')).toBe(404);
    }
    const locations = await backend.as('globex').get('/locations');
    expect(locations.body).toEqual([]);

    const path = `/locations/${created.body.location.id}`;
    for (const slug of ['globex', 'default']) {
      expect((await backend.as(slug).send('DELETE', path)).status).toBe(404);
    }
    expect(await statusOf('acme', 'component/default/website')).toBe(200);
    expect((await backend.as('acme').send('DELETE', path)).status).toBe(204);
    await waitUntil(
      'the entity to be gone',
      async () => (await statusOf('acme', 'component/default/website')) === 404,
    );
  });

  it('analyze a repository for its tenant', async () => {
    const { status, body } = await backend
      .as('acme')
      .post('/analyze-location', {
        location: { type: 'url', target: `http://${source.host}/acme/skates` },
      });
    expect(status).toBe(200);
    expect(body.existingEntityFiles).toEqual([]);
    expect(body.generateEntities[0].entity.metadata.name).toBe('skates');
  });

  it('take a location of a tenant at the moment in which it was created', async () => {
    const target = source.put('/first.yaml', componentYaml('first'));
    for (const slug of ['new-1', 'new-2', 'new-3', 'new-4']) {
      await backend.tenants.create({ tenant_slug: slug, tenant_name: slug });
      const as = backend.as(slug);
      let status = 503;
      // A request waits for an engine that starts, but not for as long as that may take under load.
      await waitUntil('the engine has started', async () => {
        ({ status } = await as.post('/locations', { type: 'url', target }));
        return status !== 503;
      });
      expect([slug, status]).toEqual([slug, 201]);
    }
  });

  it('say why one has failed, without the secrets of its tenant', async () => {
    await engines.putConfig(
      'leaky',
      {
        integrations: {
          github: [{ host: 'github.com', token: '${ROUTES_TEST_TOKEN}' }],
        },
      },
      { by: 'test' },
    );
    const { body } = await eventually(async () => {
      const answer = await backend.as('leaky').get('/locations');
      expect(answer.status).toBe(503);
      expect(answer.headers['retry-after']).toMatch(/^[0-9]+$/);
      expect(answer.body.error.message).toContain('has failed');
      return answer;
    });
    expect(body.error.message).toBe(
      "The catalog engine of the tenant 'leaky' has failed: The token *** is refused",
    );
    expect((await backend.as('leaky').get('/entities')).body).toEqual([]);
    expect((await backend.as('acme').get('/locations')).status).toBe(200);
  });

  it('leave no request to the catalog of the default tenant', async () => {
    const path = '/of-the-default-tenant';
    const ours = await backend.as('default').get(path);
    expect(ours.body).toEqual({ of: 'the default tenant' });
    await eventually(async () => {
      const { status, body } = await backend.as('acme').get(path);
      expect([status, body.error?.message]).toEqual([
        404,
        `The catalog of the tenant 'acme' has no GET ${path}`,
      ]);
    });
  });

  it.each([
    ['GET', '/locations/no-uuid', 'GET /locations/no-uuid has a value'],
    ['DELETE', '/locations/a%3Bb', 'DELETE /locations/a%3Bb has a value'],
    ['DELETE', '/entities/by-uid/%00', 'The URL has a NUL character'],
    ['GET', '/locations/by-entity/component/default/%00', 'NUL character'],
  ])(
    'are as the catalog of the default tenant, which answers 400 to %s %s',
    async (method, path, message) => {
      for (const tenant of ['default', 'acme']) {
        const { body, status } = await backend.as(tenant).send(method, path);
        expect([tenant, status, body.error]).toEqual([
          tenant,
          400,
          {
            name: 'InputError',
            message: expect.stringContaining(message),
          },
        ]);
      }
    },
  );

  it.each(['no_column', 'no_table.id'])(
    'go on where a request names %s, which is not there, and answer 400',
    async by => {
      await eventually(() =>
        backend.as('acme').get('/sorted?by=id').expect(200),
      );
      const { body } = await backend
        .as('acme')
        .get(`/sorted?by=${by}`)
        .expect(400);
      expect(body.error.message).toMatch(/^GET \/sorted has a value /);
      await backend.as('acme').get('/locations').expect(200);
    },
  );

  it('answer 500 where a table lacks a column that the request does not name', async () => {
    const { body, text } = await eventually(() =>
      backend.as('acme').get('/sorted').expect(500),
    );
    expect(body.error.message).toBe(
      "The catalog engine of the tenant 'acme' got an error of PostgreSQL (42703): see the log of the backend",
    );
    expect(text).not.toMatch(/select|not_there_yet/);
  });

  it.each([
    [
      '40P01',
      "GET /fails-with/40P01 of the tenant 'acme' conflicted with another change (40P01): try again",
      '1',
    ],
    [
      '57P01',
      "The catalog engine of the tenant 'acme' cannot use the database at the moment (57P01)",
      '5',
    ],
    [
      '25006-tenant_moves',
      "The move of the tenant 'acme' interrupted GET /fails-with/25006-tenant_moves, which may be done in part: read again before you retry",
      '10',
    ],
  ])(
    'answer 503 to a request that PostgreSQL has ended with %s',
    async (code, message, retryAfter) => {
      const { body, headers, status, text } = await eventually(async () => {
        const answer = await backend.as('acme').get(`/fails-with/${code}`);
        expect(answer.text).not.toContain('is starting');
        return answer;
      });
      expect([status, headers['retry-after']]).toEqual([503, retryAfter]);
      expect(body.error.message).toBe(message);
      expect(text).not.toContain('delete from');
    },
  );
});
