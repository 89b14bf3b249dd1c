import {
  coreServices,
  createBackendModule,
} from '@backstage/backend-plugin-api';
import { eventsServiceRef } from '@backstage/plugin-events-node';
// The stock plugin, of which tenants have instances.
// eslint-disable-next-line @backstage/no-mixed-plugin-imports
import signalsPlugin from '@backstage/plugin-signals-backend';
import {
  APPLICATION,
  createTenancyDatabase,
} from '@internal/catalog-testing/tenancyDatabase';
import { upgrade } from '@internal/catalog-testing/upgrade';
import { ROUTES_WEB_SOCKETS } from '@internal/catalog-testing/webServer';
import {
  createTestDatabases,
  eventually,
  waitUntil,
  withDeadline,
} from '@internal/postgres/testUtils';
import { carriedTenant } from 'backstage-plugin-catalog-tenancy-node';
import { Router } from 'express';
import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import type { ClientConfig } from 'pg';
import {
  startThreeTenants,
  TENANTS,
  type ThreeTenants,
} from './__testUtils__/threeTenants';
import type { InstancesTiming } from './PluginInstances';

const CHANNEL = 'news';
const databases = createTestDatabases({ versions: 'newest' });

const MARK = 'secret-of-the-portal';

/** What the plugin is configured with, by tenant. */
const configs = new Map<string, string>();

/** Of which tenants an instance has stopped. */
const stopped: string[] = [];

/** Publishes what is posted to it, in the backend or instance that it is in. */
const publisher = createBackendModule({
  pluginId: 'signals',
  moduleId: 'publisher',
  register(env) {
    env.registerInit({
      deps: {
        auth: coreServices.auth,
        config: coreServices.rootConfig,
        events: eventsServiceRef,
        httpRouter: coreServices.httpRouter,
        lifecycle: coreServices.lifecycle,
      },
      async init({ auth, config, events, httpRouter, lifecycle }) {
        const own = await auth.getOwnServiceCredentials();
        const tenant = carriedTenant(own)?.tenantSlug ?? 'default';
        configs.set(tenant, JSON.stringify(config.get()));
        lifecycle.addShutdownHook(() => {
          stopped.push(tenant);
        });
        if (tenant === 'broken') {
          throw new Error('The signals are broken');
        }
        const router = Router();
        router.post('/publish/:message', async (req, res) => {
          const { message } = req.params;
          await events.publish({
            topic: 'signals',
            eventPayload: {
              channel: CHANNEL,
              recipients: { type: 'broadcast' },
              message: { message },
            },
          });
          res.status(201).end();
        });
        httpRouter.use(router);
      },
    });
  },
});

/** A frame of a client: of less than 126 bytes, with a mask of zeros. */
function frame(opcode: number, payload: string): Buffer {
  const head = [0x80 + opcode, 0x80 + payload.length, 0, 0, 0, 0];
  return Buffer.concat([Buffer.from(head), Buffer.from(payload)]);
}

const TEXT = 1;
const PING = 9;
const PONG = Buffer.from([0x8a, 0]);

const start = (connection: ClientConfig, timing?: Partial<InstancesTiming>) =>
  startThreeTenants({
    connection,
    config: {
      connections: { github: [{ token: MARK }] },
      unknown: { token: MARK },
    },
    features: [signalsPlugin, publisher],
    plugins: { signals: [signalsPlugin, publisher] },
    entitiesOf: () => [],
    timing,
  });

(ROUTES_WEB_SOCKETS ? describe : describe.skip).each(
  databases.eachSupportedId(),
)('signals, of which each tenant has an instance, on %s', id => {
  const opened: Duplex[] = [];
  let portal: ThreeTenants;

  const connect = async (slug: string, { backend, token } = portal) => {
    const answer = await withDeadline(
      'an answer',
      upgrade(backend.server.port(), '/api/signals', {
        // As a browser can.
        'sec-websocket-protocol': `${token}, tenant.${slug}`,
      }),
    );
    opened.push(answer.socket);
    return answer;
  };

  /** The messages that arrive at a page of the tenant. */
  const listen = async (slug: string, at = portal) => {
    const { status, socket } = await connect(slug, at);
    expect(status).toBe(101);
    let received = Buffer.alloc(0);
    socket.on('data', chunk => {
      received = Buffer.concat([received, chunk]);
    });
    const subscription = { action: 'subscribe', channel: CHANNEL };
    socket.write(frame(TEXT, JSON.stringify(subscription)));
    // Answered in order.
    socket.write(frame(PING, ''));
    await waitUntil('the subscription', () => received.includes(PONG));
    return {
      closed: once(socket, 'close'),
      socket,
      messages: () =>
        [...received.toString().matchAll(/"message":"([^"]*)"/g)].map(
          ([, message]) => message,
        ),
    };
  };

  const publish = (slug: string, message: string) =>
    portal.send(slug, 'POST', `signals/publish/${message}`).expect(201);

  beforeAll(async () => {
    portal = await start(await createTenancyDatabase(databases, id));
    for (const slug of ['deleted', 'broken']) {
      await portal.backend.tenants.create({
        tenant_slug: slug,
        tenant_name: slug,
      });
    }
  });

  afterEach(() => opened.splice(0).forEach(socket => socket.destroy()));

  afterAll(() => portal?.backend.stop());

  it('brings a message to the pages of its tenant, and to no others', async () => {
    const pages = [];
    for (const slug of TENANTS) {
      pages.push(await listen(slug));
    }
    for (const slug of TENANTS) {
      await publish(slug, `of-${slug}`);
    }
    for (const [index, slug] of TENANTS.entries()) {
      // In order: what others have published before would be here too.
      const { messages } = pages[index];
      await waitUntil('the message', () => messages().length > 0);
      expect(messages()).toEqual([`of-${slug}`]);
    }
  });

  it('has none of the credentials of the portal in its configuration', async () => {
    await publish('acme', 'anything');
    for (const secret of [MARK, APPLICATION.password]) {
      expect(configs.get('default')).toContain(secret);
      expect(configs.get('acme')).not.toContain(secret);
    }
  });

  it('closes the connections of a tenant that is deleted', async () => {
    const page = await listen('deleted');
    await portal.backend.tenants.delete('deleted');
    await withDeadline('the end of the connection', page.closed);
    expect(await connect('deleted')).toMatchObject({
      status: 403,
      text: '{"error":"Invalid tenant"}',
    });
  });

  it('answers 503 with the reason where the instance can not start', async () => {
    const { status, text, headers } = await connect('broken');
    expect(status).toBe(503);
    expect(headers['retry-after']).toBeDefined();
    expect(text).toContain(
      "The instance of the plugin 'signals' of the tenant 'broken' has failed",
    );
  });

  it('keeps an instance without requests while a page is connected', async () => {
    const idle = await start(await createTenancyDatabase(databases, id), {
      checkMs: 50,
      idleMs: 2000,
    });
    try {
      // A start that takes longer is idle too.
      const page = await eventually(() => listen('acme', idle));
      stopped.length = 0;
      const other = await eventually(() => listen('globex', idle));
      other.socket.destroy();
      await waitUntil('the end of another', () => stopped.includes('globex'));
      expect(stopped).not.toContain('acme');
      expect(page.socket.destroyed).toBe(false);
      page.socket.destroy();
      await waitUntil('the end of it', () => stopped.includes('acme'));
    } finally {
      await idle.backend.stop();
    }
  });
});
