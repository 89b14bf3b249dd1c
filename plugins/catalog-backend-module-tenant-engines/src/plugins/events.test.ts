import {
  coreServices,
  createBackendModule,
} from '@backstage/backend-plugin-api';
// The stock plugin, of which tenants have instances.
// eslint-disable-next-line @backstage/no-mixed-plugin-imports
import eventsPlugin from '@backstage/plugin-events-backend';
import {
  catalogProcessingExtensionPoint,
  type EntityProviderConnection,
} from '@backstage/plugin-catalog-node';
import { eventsServiceRef } from '@backstage/plugin-events-node';
import { eventsExtensionPoint } from '@backstage/plugin-events-node/alpha';
import { createTenancyDatabase } from '@internal/catalog-testing/tenancyDatabase';
import { createTestDatabases, waitUntil } from '@internal/postgres/testUtils';
import request from 'supertest';
import {
  startThreeTenants,
  type ThreeTenants,
} from './__testUtils__/threeTenants';

const databases = createTestDatabases({ versions: 'newest' });

const TOPIC = 'git';
const CATALOG = 'catalog/entities?filter=kind=component';

/** As the modules for GitHub and GitLab: a webhook is verified by a secret. */
const webhooks = createBackendModule({
  pluginId: 'events',
  moduleId: 'git',
  register(env) {
    env.registerInit({
      deps: { config: coreServices.rootConfig, events: eventsExtensionPoint },
      async init({ config, events }) {
        const secret = config.getString('events.modules.git.webhookSecret');
        events.addHttpPostIngress({
          topic: TOPIC,
          async validator({ headers }, context) {
            if (headers['x-secret'] !== secret) {
              context.reject({ status: 403, payload: { message: 'refused' } });
            }
          },
        });
      },
    });
  },
});

/** An entity provider that brings what a webhook names. */
const provider = createBackendModule({
  pluginId: 'catalog',
  moduleId: 'git',
  register(env) {
    env.registerInit({
      deps: {
        events: eventsServiceRef,
        processing: catalogProcessingExtensionPoint,
      },
      async init({ events, processing }) {
        let connection: EntityProviderConnection | undefined;
        processing.addEntityProvider({
          getProviderName: () => 'git',
          connect: async own => {
            connection = own;
          },
        });
        await events.subscribe({
          id: 'git',
          topics: [TOPIC],
          async onEvent({ eventPayload }) {
            const { name } = eventPayload as { name: string };
            await connection!.applyMutation({
              type: 'delta',
              added: [{ entity: component(name) }],
              removed: [],
            });
          },
        });
      },
    });
  },
});

function component(name: string) {
  const location = 'url:http://example.com/pushed.yaml';
  return {
    apiVersion: 'backstage.io/v1alpha1',
    kind: 'Component',
    metadata: {
      name,
      annotations: {
        'backstage.io/managed-by-location': location,
        'backstage.io/managed-by-origin-location': location,
      },
    },
    spec: { type: 'service', lifecycle: 'production', owner: 'guests' },
  };
}

describe.each(databases.eachSupportedId())('webhooks on %s', id => {
  let portal: ThreeTenants;

  beforeAll(async () => {
    portal = await startThreeTenants({
      connection: await createTenancyDatabase(databases, id),
      config: {
        events: { modules: { git: { webhookSecret: 'of-the-portal' } } },
        tenancy: {
          plugins: {
            config: {
              events: {
                modules: { git: { webhookSecret: 'of-${tenant.slug}' } },
              },
            },
          },
        },
      },
      features: [eventsPlugin, webhooks],
      plugins: { events: [eventsPlugin, webhooks] },
      modules: [provider],
      fedByEngines: true,
      entitiesOf: () => [],
    });
  });

  afterAll(() => portal?.backend.stop());

  /** Without credentials, as services on the internet do. */
  const push = (path: string, secret: string, name: string) =>
    request(portal.backend.server)
      .post(`/api/events${path}`)
      .set('x-secret', secret)
      .send({ name });

  const isTaken = async (...args: Parameters<typeof push>) => {
    const { status } = await push(...args);
    expect([202, 503]).toContain(status);
    return status === 202;
  };

  const has = async (tenant: string, name: string) => {
    const { text } = await portal.get(tenant, CATALOG).expect(200);
    return text.includes(name);
  };

  it('reach the engine of the tenant in their address, if they have its secret', async () => {
    for (const tenant of ['acme', 'globex']) {
      const path = `/.tenant/${tenant}/http/${TOPIC}`;
      // The instance and the engine may be starting: senders try again.
      await waitUntil(`the webhook of ${tenant} to be taken`, () =>
        isTaken(path, `of-${tenant}`, `pushed-to-${tenant}`),
      );
      await waitUntil(`the component of ${tenant}`, () =>
        has(tenant, `pushed-to-${tenant}`),
      );
    }
    expect(await has('globex', 'pushed-to-acme')).toBe(false);
    expect(await has('acme', 'pushed-to-globex')).toBe(false);
    expect(await has('default', 'pushed-to')).toBe(false);
  });

  it('are refused with the secret of another tenant or of the portal', async () => {
    const ofAcme = `/.tenant/acme/http/${TOPIC}`;
    for (const secret of ['of-globex', 'of-the-portal', '']) {
      await push(ofAcme, secret, 'refused').expect(403);
    }
    await push(`/.tenant/initech/http/${TOPIC}`, 'of-acme', 'x').expect(403);
    await push(`/http/${TOPIC}`, 'of-acme', 'refused').expect(403);
    await push(`/http/${TOPIC}`, 'of-the-portal', 'pushed').expect(202);
    expect(await has('acme', 'refused')).toBe(false);
  });

  it('are all that a tenant answers without credentials', async () => {
    for (const path of ['/bus/v1/events', '/health', '/httpx/git']) {
      const { status } = await push(`/.tenant/acme${path}`, 'of-acme', 'x');
      expect(status).toBe(401);
    }
  });
});
