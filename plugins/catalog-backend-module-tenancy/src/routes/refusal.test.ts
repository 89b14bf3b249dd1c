import {
  coreServices,
  createBackendModule,
} from '@backstage/backend-plugin-api';
import { mockCredentials } from '@backstage/backend-test-utils';
import { createTestDatabases } from '@internal/postgres/testUtils';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { component } from '@internal/catalog-testing/entities';
import {
  type CatalogBackend,
  startCatalogBackend,
} from '@internal/catalog-testing/startCatalogBackend';
import { createTenancyDatabase } from '@internal/catalog-testing/tenancyDatabase';

const databases = createTestDatabases({ versions: 'newest' });

/** What only the stock catalog answers, and how it is reached. */
const STOCK_ROUTES: Array<[method: string, path: string, body?: object]> = [
  ['DELETE', '/entities/by-uid/7bd6b4a3-0b0c-4f0f-8a67-0d9b3c6c9f11'],
  ['POST', '/refresh', { entityRef: 'component:default/a' }],
  ['GET', '/locations'],
  ['POST', '/locations', { type: 'url', target: 'https://example.com/a.yaml' }],
  ['POST', '/locations/by-query', {}],
  ['GET', '/locations/00000000-0000-4000-8000-000000000001'],
  [
    'PUT',
    '/locations/00000000-0000-4000-8000-000000000001',
    { type: 'url', target: 'https://example.com' },
  ],
  ['DELETE', '/locations/00000000-0000-4000-8000-000000000001'],
  ['GET', '/locations/by-entity/component/default/a'],
  ['POST', '/analyze-location', { location: { type: 'url', target: 'x' } }],
  ['POST', '/validate-entity', { entity: {}, location: 'url:x' }],
  ['GET', '/openapi.json'],
  ['GET', '/.well-known/backstage/permissions/metadata'],
  ['GET', '/.Well-Known/Backstage/Permissions/Metadata/'],
  [
    'POST',
    '/.well-known/backstage/permissions/apply-conditions',
    {
      items: [
        {
          id: '1',
          resourceRef: 'component:default/a',
          resourceType: 'of-another-module',
          conditions: {
            rule: 'IS_ENTITY_KIND',
            resourceType: 'of-another-module',
            params: { kinds: ['component'] },
          },
        },
      ],
    },
  ],
];

/** Requests that no route answers, or only by another method. */
const ODD_REQUESTS: Array<[method: string, path: string]> = [
  ['GET', ''],
  ['GET', '/'],
  ['GET', '///entities'],
  ['GET', '/entities//'],
  ['GET', '/./entities'],
  ['GET', '/x/../entities'],
  ['GET', '/x/%2e%2e/entities'],
  ['GET', '/%2e/entities'],
  ['GET', '/%65ntities'],
  ['GET', '/entities%2F'],
  ['GET', '/entities%3flimit=1'],
  ['GET', '/entities;x=1'],
  ['GET', '/entities/by-uid'],
  ['GET', '/entities/by-uid/a/b'],
  ['GET', '/entities/by-name/component/default'],
  ['GET', '/entities/by-refs'],
  ['POST', '/entities'],
  ['PUT', '/entities'],
  ['PATCH', '/entities'],
  ['DELETE', '/entities'],
  ['PUT', '/entities/by-query'],
  ['DELETE', '/entity-facets'],
  ['POST', '/entities/by-name/component/default/a/ancestry'],
  ['PATCH', '/entities/by-uid/x'],
  ['DELETE', '/Entities/By-Uid/x/'],
  ['PROPFIND', '/entities'],
  ['OPTIONS', '/locations'],
  ['GET', '/nothing/like/this'],
];

/** Sorts by the column that a request names, or by one that a later version of the plugin has. */
const sorting = createBackendModule({
  pluginId: 'catalog',
  moduleId: 'sorting',
  register(env) {
    env.registerInit({
      deps: {
        database: coreServices.database,
        router: coreServices.httpRouter,
      },
      async init({ database, router }) {
        const knex = await database.getClient();
        router.use(({ path, query }, res, next) => {
          if (path === '/sorted') {
            knex('locations')
              .orderBy(String(query.by ?? 'added_later'))
              .then(rows => res.json(rows), next);
          } else {
            next();
          }
        });
      },
    });
  },
});

const oneComponent = { facets: { kind: [{ value: 'Component', count: 1 }] } };

describe.each(databases.eachSupportedId())('refusal on %s', id => {
  let backend: CatalogBackend;

  beforeAll(async () => {
    const connection = await createTenancyDatabase(databases, id);
    backend = await startCatalogBackend({
      connection,
      enabled: true,
      features: [sorting],
    });
    await backend.createTenant('acme', [component('a')]);
  });

  it.each(
    [...STOCK_ROUTES, ...ODD_REQUESTS].map(([method, path, body]) => ({
      method,
      path,
      body,
    })),
  )(
    'keeps $method $path from every tenant but the default one',
    async ({ method, path, body }) => {
      const { status, text } = await sendRaw(method, path, 'acme', body);
      expect(status).toBe(403);
      const { error } = JSON.parse(text);
      expect(error.name).toBe('NotAllowedError');
      expect(error.message).toMatch(
        /^[A-Z]+ \S* is not available to the tenant 'acme': the backend has no catalog engines for tenants$/,
      );
      const passed = await sendRaw(method, path, 'default', body);
      expect(passed.text).not.toContain('is not available to the tenant');
    },
  );

  it('lets the default tenant through to the stock catalog', async () => {
    const caller = backend.as('default');
    expect((await caller.get('/locations')).status).toBe(200);
    expect((await caller.get('///entities')).status).toBe(404);
    const metadata = await caller.get(
      '/.well-known/backstage/permissions/metadata',
    );
    expect(metadata.body.rules.length).toBeGreaterThan(3);
  });

  it('answers spellings that Express takes for the same from the store', async () => {
    for (const path of ['/entities', '//entities', '/ENTITIES', '/Entities/']) {
      const { body } = await backend.as('acme').get(path);
      expect(body).toHaveLength(1);
      expect((await backend.as('default').get(path)).body).toEqual([]);
    }
    const pages = '/Entities/By-Query/';
    for (const [path, inAcme, inDefault] of [
      [pages, { totalItems: 1 }, { totalItems: 0 }],
      ['/Entity-Facets/?facet=kind', oneComponent, { facets: { kind: [] } }],
    ] as const) {
      expect((await backend.as('acme').get(path)).body).toMatchObject(inAcme);
      const { body } = await backend.as('default').get(path);
      expect(body).toMatchObject(inDefault);
    }
    const ancestry = '/entities/by-name/component/default/a/Ancestry/';
    expect((await backend.as('acme').get(ancestry)).status).toBe(200);
    expect((await backend.as('default').get(ancestry)).status).toBe(404);
  });

  it('says what methods there are without asking the stock catalog', async () => {
    const { status, text } = await sendRaw('OPTIONS', '/entities', 'acme');
    expect(status).toBe(200);
    expect(text).toBe('GET,HEAD');
  });

  it('gives a path that cannot be decoded status 400', async () => {
    for (const slug of ['acme', 'default']) {
      const { status } = await sendRaw('GET', '/entities/by-uid/%ff', slug);
      expect(status).toBe(400);
    }
  });

  it.each([
    ['/refresh', { entityRef: 'component:default/\0' }],
    ['/locations', { type: 'url', target: 'https://example.com/\0' }],
    ['/locations/by-query', { query: { target: '\0' } }],
    [
      '/locations/by-query',
      {
        cursor: Buffer.from('{"limit":1,"afterId":"\\u0000"}').toString(
          'base64',
        ),
      },
    ],
  ])(
    'gives a value that PostgreSQL refuses in POST %s status 400 in the default tenant: %j',
    async (path, body) => {
      const { status, text } = await sendRaw('POST', path, 'default', body);
      expect([status, JSON.parse(text).error]).toEqual([
        400,
        {
          name: 'InputError',
          message: expect.stringMatching(`POST ${path} has a value`),
        },
      ]);
    },
  );

  it.each([
    ['?by=id', 200],
    ['?by=no_column', 400],
    ['?by=locations.no_column', 400],
    ['', 500],
    ['?limit=5&order=id', 500],
  ])(
    'takes a column that is not there for a value of the request where that names it, in the default tenant: /sorted%s',
    async (query, expected) => {
      const { status } = await backend.as('default').get(`/sorted${query}`);
      expect(status).toBe(expected);
    },
  );

  it('asks for credentials before anything else', async () => {
    const { status } = await backend
      .as('acme')
      .get('/entities')
      .set('Authorization', mockCredentials.none.header());
    expect(status).toBe(401);
  });

  /** Sends a path as it is, which clients would bring into another form. */
  async function sendRaw(
    method: string,
    path: string,
    tenantSlug: string,
    body?: object,
  ): Promise<{ status?: number; text: string }> {
    const sent = request({
      method,
      port: backend.server.port(),
      path: `/api/catalog${path}`,
      headers: {
        Authorization: mockCredentials.service.header(),
        'X-Tenant-Slug': tenantSlug,
        ...(body && { 'Content-Type': 'application/json' }),
      },
      agent: false,
    }).end(body && JSON.stringify(body));
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    let text = '';
    for await (const data of answer.setEncoding('utf8')) {
      text += data;
    }
    return { status: answer.statusCode, text };
  }
});
