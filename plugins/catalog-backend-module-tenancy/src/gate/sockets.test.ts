import {
  coreServices,
  createBackendModule,
  createBackendPlugin,
  createServiceFactory,
  type HttpRouterService,
} from '@backstage/backend-plugin-api';
import signals from '@backstage/plugin-signals-backend';
import allowAll from '@backstage/plugin-permission-backend-module-allow-all-policy';
import { signedInGuest, signIn } from '@internal/catalog-testing/signedInGuest';
import {
  type CatalogBackend,
  startCatalogBackend,
} from '@internal/catalog-testing/startCatalogBackend';
import { createTenancyDatabase } from '@internal/catalog-testing/tenancyDatabase';
import { upgrade } from '@internal/catalog-testing/upgrade';
import { ROUTES_WEB_SOCKETS } from '@internal/catalog-testing/webServer';
import {
  createTestDatabases,
  waitUntil,
  withDeadline,
} from '@internal/postgres/testUtils';
import {
  carriedTenant,
  currentTenant,
  type EventLoopWatch,
  eventLoopWatchServiceRef,
  tenantGateServiceRef,
  type TenantMemberStore,
  tenantMemberStoreServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
import { once } from 'node:events';
import type { OutgoingHttpHeaders } from 'node:http';
import type { Duplex } from 'node:stream';
import request from 'supertest';

const JANE = 'user:default/jane';
const REFUSED = '403 {"error":"Invalid tenant"}';
const databases = createTestDatabases({ versions: 'newest' });

(ROUTES_WEB_SOCKETS ? describe : describe.skip).each(
  databases.eachSupportedId(),
)('the gate in front of WebSockets on %s', id => {
  const guest = signedInGuest(JANE);
  /** What the handlers of the plugins got. */
  const reached: string[] = [];
  const opened: Duplex[] = [];
  const underWay = new Set<string>();
  let members: TenantMemberStore;
  let backend: CatalogBackend;
  let token: string;

  /** Answers HTTP, and WebSockets with the tenant that it is given. */
  const addRoutes = (httpRouter: HttpRouterService, pluginId: string) => {
    httpRouter.use((_req, res) => {
      res.json('reached');
    });
    for (const path of ['/', '/open']) {
      httpRouter.addWebSocketHandler({
        path,
        ...(path === '/open' && { authPolicy: 'unauthenticated' }),
        handler({ credentials, socket }) {
          const carried = carriedTenant(credentials)?.tenantSlug;
          const current = currentTenant()?.tenantSlug;
          reached.push(`${pluginId} ${carried} ${current}`);
          socket.resume().once('end', () => socket.end());
          socket.write(
            'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n',
          );
        },
      });
    }
  };

  const plugin = (pluginId: string) =>
    createBackendPlugin({
      pluginId,
      register(env) {
        env.registerInit({
          deps: { httpRouter: coreServices.httpRouter },
          init: async ({ httpRouter }) => addRoutes(httpRouter, pluginId),
        });
      },
    });

  const awarePlugin = createBackendPlugin({
    pluginId: 'aware',
    register(env) {
      env.registerInit({
        deps: {
          gate: tenantGateServiceRef,
          httpRouter: coreServices.httpRouter,
          memberStore: tenantMemberStoreServiceRef,
        },
        async init({ gate, httpRouter, memberStore }) {
          members = memberStore;
          gate.declareTenantAware();
          addRoutes(httpRouter, 'aware');
        },
      });
    },
  });

  /** It knows no tenants, as all modules of the stock catalog. */
  const catalogModule = createBackendModule({
    pluginId: 'catalog',
    moduleId: 'with-a-web-socket',
    register(env) {
      env.registerInit({
        deps: { httpRouter: coreServices.httpRouter },
        async init({ httpRouter }) {
          httpRouter.addWebSocketHandler({
            path: '/events',
            handler: ({ socket }) => {
              reached.push('catalog');
              socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\n');
            },
          });
        },
      });
    },
  });

  const open = async (path: string, headers: OutgoingHttpHeaders = {}) => {
    const answer = await withDeadline(
      `the answer of ${path}`,
      upgrade(backend.server.port(), `/api/${path}`, {
        authorization: `Bearer ${token}`,
        ...headers,
      }),
    );
    const { socket } = answer;
    opened.push(socket);
    const closed = once(socket, 'close');
    // Without a reader, the end of a connection is not noticed.
    socket.resume();
    socket.on('error', () => undefined);
    return { ...answer, closed };
  };

  const outcome = async (path: string, headers: OutgoingHttpHeaders = {}) => {
    const { status, text } = await open(path, headers);
    return `${status} ${text}`;
  };

  const add = (slug: string) =>
    members.put(slug, { principal: JANE, role: 'member' }, { by: JANE });

  beforeAll(async () => {
    backend = await startCatalogBackend({
      connection: await createTenancyDatabase(databases, id),
      enabled: true,
      webSockets: true,
      config: {
        ...guest.config,
        backend: { trustProxy: 'loopback' },
        tenancy: {
          baseDomains: ['portal.example.com'],
          membership: 'required',
          plugins: { shared: ['news'] },
        },
      },
      features: [
        ...guest.features,
        allowAll,
        awarePlugin,
        catalogModule,
        plugin('news'),
        plugin('search'),
        signals,
        createServiceFactory({
          service: eventLoopWatchServiceRef,
          deps: {},
          factory: () =>
            ({
              begin(slug: string) {
                underWay.add(slug);
                return () => underWay.delete(slug);
              },
            } as unknown as EventLoopWatch),
        }),
      ],
    });
    for (const slug of ['acme', 'globex', 'leaving', 'ending', 'deleted']) {
      await backend.createTenant(slug);
    }
    await add('acme');
    token = await signIn(backend);
  });

  afterEach(() => opened.splice(0).forEach(socket => socket.destroy()));

  afterAll(() => backend?.stop());

  beforeEach(() => {
    reached.length = 0;
  });

  it.each(['aware', 'news', 'search'])(
    'answers as it answers requests, for the plugin %s',
    async pluginId => {
      for (const slug of ['default', 'acme', 'globex', 'nobody']) {
        const { status, text } = await request(backend.server)
          .get(`/api/${pluginId}`)
          .set('Authorization', `Bearer ${token}`)
          .set('X-Tenant-Slug', slug);
        reached.length = 0;
        expect({
          slug,
          answer: await outcome(pluginId, { 'x-tenant-slug': slug }),
          reached: reached.length,
        }).toEqual({
          slug,
          answer: status === 200 ? '101 ' : `${status} ${text}`,
          reached: status === 200 ? 1 : 0,
        });
      }
    },
  );

  it('refuses without credentials, and the routes that ask for none in other tenants', async () => {
    const none = { authorization: '' };
    expect(await outcome('aware', none)).toBe('401 ');
    expect(await outcome('aware/open', none)).toBe('101 ');
    expect(
      await outcome('aware/open', { ...none, 'x-tenant-slug': 'acme' }),
    ).toBe(REFUSED);
    expect(
      await outcome('news/open', { ...none, 'x-tenant-slug': 'nobody' }),
    ).toBe('101 ');
    expect(reached).toEqual([
      'aware undefined default',
      'news undefined undefined',
    ]);
  });

  it.each<[string, OutgoingHttpHeaders]>([
    ['the hostname', { host: 'acme.portal.example.com' }],
    [
      'the hostname that a trusted proxy forwards',
      { 'x-forwarded-host': 'acme.portal.example.com' },
    ],
    ['the origin of the page', { origin: 'https://acme.portal.example.com' }],
    ['the header', { 'x-tenant-slug': 'acme' }],
    ['a protocol', { 'sec-websocket-protocol': 'chat, tenant.acme' }],
  ])('finds the tenant by %s', async (_, headers) => {
    expect(await outcome('aware', headers)).toBe('101 ');
    expect(reached).toEqual(['aware acme acme']);
  });

  it('finds the tenant by the address', async () => {
    expect(await outcome('aware?tenant=acme')).toBe('101 ');
    expect(await outcome('aware?tenant=globex')).toBe(REFUSED);
    expect(await outcome('aware?tenant=acme&tenant=globex')).toBe(REFUSED);
    expect(reached).toEqual(['aware acme acme']);
  });

  it('takes the token of a protocol, as browsers send it', async () => {
    const asBrowser = (slug: string) => ({
      authorization: '',
      'sec-websocket-protocol': `${token}, tenant.${slug}`,
    });
    expect(await outcome('aware', asBrowser('acme'))).toBe('101 ');
    expect(await outcome('aware', asBrowser('globex'))).toBe(REFUSED);
    expect(await outcome('aware', asBrowser('acme, tenant.globex'))).toBe(
      REFUSED,
    );
    expect(reached).toEqual(['aware acme acme']);
  });

  it('leaves the WebSockets of the stock catalog and of signals to the default tenant', async () => {
    expect(await outcome('catalog/events')).toBe('101 ');
    expect(await outcome('signals')).toBe('101 ');
    for (const path of ['catalog/events', 'signals']) {
      expect(await outcome(path, { 'x-tenant-slug': 'acme' })).toMatch(
        /^403 .*is not available to the tenant 'acme'/,
      );
    }
    expect(reached).toEqual(['catalog']);
  });

  it('closes those of a member who is removed, and no others', async () => {
    await add('leaving');
    const stays = await open('aware', { 'x-tenant-slug': 'acme' });
    const leaves = await open('aware', { 'x-tenant-slug': 'leaving' });
    const shared = await open('news', { 'x-tenant-slug': 'leaving' });
    await members.remove('leaving', JANE);
    await withDeadline(
      'the ends of the connections',
      Promise.all([leaves.closed, shared.closed]),
    );
    expect(await outcome('aware', { 'x-tenant-slug': 'leaving' })).toBe(
      REFUSED,
    );
    expect(stays.socket.destroyed).toBe(false);
  });

  it('counts those as under way that are open', async () => {
    await add('ending');
    const { socket } = await open('aware', { 'x-tenant-slug': 'ending' });
    expect(underWay).toContain('ending');
    socket.destroy();
    await waitUntil('the end', async () => !underWay.has('ending'));
  });

  it('closes those of a tenant that is deleted', async () => {
    await add('deleted');
    const stays = await open('aware', { 'x-tenant-slug': 'acme' });
    const ends = await open('aware', { 'x-tenant-slug': 'deleted' });
    await backend.tenants.delete('deleted');
    await withDeadline('the end of the connection', ends.closed);
    expect(stays.socket.destroyed).toBe(false);
  });
});
