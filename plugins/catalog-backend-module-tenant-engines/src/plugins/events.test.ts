import {
  coreServices,
  createBackendModule,
} from '@backstage/backend-plugin-api';
// The stock plugin, of which tenants have instances.
// eslint-disable-next-line @backstage/no-mixed-plugin-imports
import eventsPlugin from '@backstage/plugin-events-backend';
import githubWebhooks from '@backstage/plugin-events-backend-module-github';
import {
  catalogProcessingExtensionPoint,
  type EntityProviderConnection,
} from '@backstage/plugin-catalog-node';
import { eventsServiceRef } from '@backstage/plugin-events-node';
import { createTenancyDatabase } from '@internal/catalog-testing/tenancyDatabase';
import { createTestDatabases, waitUntil } from '@internal/postgres/testUtils';
import { carriedTenant } from 'backstage-plugin-catalog-tenancy-node';
import { createHmac } from 'node:crypto';
import request from 'supertest';
import {
  startThreeTenants,
  type ThreeTenants,
} from './__testUtils__/threeTenants';

const databases = createTestDatabases({ versions: 'newest' });

const TOPIC = 'github';
const CATALOG = 'catalog/entities?filter=kind=component';

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

/** The tenants whose instance runs. */
const running = new Set<string>();

const noting = createBackendModule({
  pluginId: 'events',
  moduleId: 'noting',
  register(env) {
    env.registerInit({
      deps: { auth: coreServices.auth, lifecycle: coreServices.lifecycle },
      async init({ auth, lifecycle }) {
        const own = await auth.getOwnServiceCredentials();
        const { tenantSlug } = carriedTenant(own)!;
        running.add(tenantSlug);
        lifecycle.addShutdownHook(() => {
          running.delete(tenantSlug);
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
        events: { modules: { github: { webhookSecret: 'of-the-portal' } } },
        tenancy: {
          plugins: {
            config: {
              events: {
                modules: { github: { webhookSecret: 'of-${tenant.slug}' } },
              },
            },
          },
        },
      },
      features: [eventsPlugin, githubWebhooks],
      plugins: { events: [eventsPlugin, githubWebhooks, noting] },
      modules: [provider],
      fedByEngines: true,
      entitiesOf: () => [],
      timing: { checkMs: 200, unverifiedMs: 1_000 },
    });
  });

  afterAll(() => portal?.backend.stop());

  /** Without credentials, as GitHub does. */
  const push = (path: string, secret: string, name: string) => {
    const body = JSON.stringify({ name });
    const signature = createHmac('sha256', secret).update(body).digest('hex');
    return request(portal.backend.server)
      .post(`/api/events${path}`)
      .set('content-type', 'application/json')
      .set('x-github-event', 'push')
      .set('x-hub-signature-256', `sha256=${signature}`)
      .send(body);
  };

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

  it('start few instances and for a short time, where a stranger sends them', async () => {
    await push(`/.tenant/acme/http/${TOPIC}`, 'of-acme', 'again').expect(202);
    const slugs = Array.from({ length: 25 }, (_, index) => `tenant-${index}`);
    const statuses: number[] = [];
    for (const slug of slugs) {
      await portal.backend.tenants.create({
        tenant_slug: slug,
        tenant_name: slug,
      });
    }
    await Promise.all(
      slugs.map(async slug => {
        const path = `/.tenant/${slug}/http/${TOPIC}`;
        statuses.push((await push(path, 'of a stranger', 'x')).status);
      }),
    );
    expect(statuses.filter(status => status === 503).length).toBeGreaterThan(0);
    expect(running.size).toBeLessThanOrEqual(22);
    await waitUntil(
      'theirs to stop',
      () => !slugs.some(slug => running.has(slug)),
    );
    expect(running).toContain('acme');
  });

  it('are all that a tenant answers without credentials', async () => {
    for (const path of ['/bus/v1/events', '/health', '/httpx/github']) {
      const { status } = await push(`/.tenant/acme${path}`, 'of-acme', 'x');
      expect(status).toBe(401);
    }
  });
});
