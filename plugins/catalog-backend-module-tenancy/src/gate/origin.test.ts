import { MiddlewareFactory } from '@backstage/backend-defaults/rootHttpRouter';
import { mockCredentials, mockServices } from '@backstage/backend-test-utils';
import type { JsonObject } from '@backstage/types';
import express from 'express';
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { InMemoryTenants } from '../resolution/__testUtils__/InMemoryTenants';
import { sendTo } from '../resolution/__testUtils__/send';
import {
  classifiedPlugin,
  PATHS,
  startGatedBackend,
} from './__testUtils__/startGatedBackend';

const REFUSED = '{"error":"Invalid tenant"}';
const API = 'api.example.com';
/** By which the discovery service has plugins find each other. */
const INTERNAL = 'backstage.portal.svc.cluster.local';
const PAGE = 'https://acme.portal.example.com';

const fronts: Server[] = [];

afterEach(() => {
  fronts.splice(0).forEach(front => front.close());
});

/** A backend at {@link API}, with the CORS of Backstage, and a frontend at another host. */
async function start(
  options: { tenancy?: JsonObject; cors?: JsonObject } = {},
) {
  const { tenancy, cors } = options;
  const logger = mockServices.rootLogger.mock();
  const config = {
    app: { baseUrl: 'https://portal.example.com' },
    backend: {
      baseUrl: `https://${API}`,
      cors: {
        origin: ['https://*.portal.example.com'],
        credentials: true,
        ...cors,
      },
    },
  };
  const backend = await startGatedBackend({
    ...config,
    directory: new InMemoryTenants(),
    tenancy: { baseDomains: ['portal.example.com'], ...tenancy },
    features: [
      Object.assign(logger, { child: () => logger }).factory,
      mockServices.discovery.mock({
        getBaseUrl: async id => `http://${INTERNAL}/api/${id}`,
        getExternalBaseUrl: async id => `https://${API}/api/${id}`,
      }).factory,
      classifiedPlugin('aware', { tenantAware: true }),
    ],
  });
  const middleware = MiddlewareFactory.create({
    config: mockServices.rootConfig({ data: config }),
    logger,
  });
  // The root router of test backends has none of the CORS of Backstage.
  const front = express()
    .use(middleware.cors())
    .use((req, res) => {
      backend.server.emit('request', req, res);
    })
    .listen(0, '127.0.0.1');
  fronts.push(front);
  await once(front, 'listening');
  const { port } = front.address() as AddressInfo;
  return {
    logger,
    send: (headers: Record<string, string>, path = '', method = 'GET') =>
      sendTo(
        port,
        `/api/aware${path || PATHS.credentials}`,
        { host: API, ...headers },
        method,
      ),
  };
}

const authorization = mockCredentials.user.header();

describe('a page at the hostname of a tenant, whose backend is at another host', () => {
  it.each<[string, Record<string, string>, string]>([
    ['Origin', { origin: PAGE }, '"acme"'],
    ['Origin with a port', { origin: `${PAGE}:3000` }, '"acme"'],
    ['Referer', { referer: `${PAGE}/catalog?x=y` }, '"acme"'],
    [
      'Origin, first',
      { origin: PAGE, referer: 'https://globex.portal.example.com/' },
      '"acme"',
    ],
    [
      'Origin of no tenant',
      { origin: 'https://unknown.portal.example.com' },
      REFUSED,
    ],
    [
      'Origin, unless it names one',
      { origin: PAGE, 'x-tenant-slug': 'globex' },
      '"globex"',
    ],
    [
      'Origin, unless the host does',
      { origin: PAGE, host: 'globex.portal.example.com' },
      '"globex"',
    ],
    [
      'Origin of the portal',
      { origin: 'https://portal.example.com' },
      '"default"',
    ],
    [
      'Origin of another site',
      { origin: 'https://acme.example.org' },
      '"default"',
    ],
    ['Origin of no site', { origin: 'null' }, '"default"'],
    ['neither', {}, '"default"'],
    ['neither, at the internal host', { host: INTERNAL }, '"default"'],
  ])('is that of its tenant by %s', async (_name, headers, expected) => {
    const { send } = await start();
    const answer = await send({ authorization, ...headers });
    expect(answer.text).toBe(expected);
    expect(answer.headers.vary).toMatch(/Origin/);
    expect(answer.headers.vary).toMatch(/Referer/);
  });

  it('names its tenant by the header, which a preflight allows', async () => {
    const { send } = await start();
    const answer = await send(
      {
        origin: PAGE,
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'authorization,x-tenant-slug',
      },
      '',
      'OPTIONS',
    );
    expect(answer.status).toBe(204);
    expect(answer.headers).toMatchObject({
      'access-control-allow-origin': PAGE,
      'access-control-allow-headers': 'authorization,x-tenant-slug',
    });
  });

  it.each([
    [{ cors: { allowedHeaders: ['Authorization'] } }, 'lacks X-Tenant-Slug'],
    [{ tenancy: { baseDomains: [] } }, 'tenancy.baseDomains is not set'],
  ])(
    'has a setting named at the start without which it could not name its tenant: %j',
    async (options, warning) => {
      const { logger } = await start(options);
      expect(logger.warn.mock.calls.flat().join()).toContain(warning);
    },
  );

  it('is not stopped by the gate, where CORS leaves preflights to the plugin, whatever tenant it names', async () => {
    const { send } = await start({ cors: { preflightContinue: true } });
    const preflight = {
      origin: PAGE,
      'access-control-request-method': 'GET',
    };
    for (const host of ['acme', 'unknown'].map(
      slug => `${slug}.portal.example.com`,
    )) {
      const answer = await send({ ...preflight, host }, PATHS.open, 'OPTIONS');
      expect([answer.status, answer.text]).toEqual([204, '']);
      expect(answer.headers['access-control-allow-origin']).toBe(PAGE);
      const withCredentials = await send(
        { ...preflight, host: 'unknown.portal.example.com', authorization },
        PATHS.open,
        'OPTIONS',
      );
      expect(withCredentials.text).toBe(REFUSED);
    }
  });
});
