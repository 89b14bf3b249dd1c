import {
  coreServices,
  createBackendPlugin,
  createServiceFactory,
} from '@backstage/backend-plugin-api';
import { mockCredentials } from '@backstage/backend-test-utils';
import type { JsonObject } from '@backstage/types';
import {
  type BegunAuditEvent,
  type EndedAuditEvent,
  tenantGateServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
import { Router } from 'express';
import { startGatedBackend } from '../gate/__testUtils__/startGatedBackend';

/** What happened, in its order. */
let happened: string[];
let begun: BegunAuditEvent[];
let ended: EndedAuditEvent[];

const trail = {
  begin: async (event: BegunAuditEvent) => {
    happened.push('begun');
    begun.push(event);
    return {
      end: async (end: EndedAuditEvent) => {
        ended.push(end);
        await new Promise(setImmediate);
        happened.push('stored');
      },
      storeWith: () => ({
        build: async () => undefined,
        onCommitted() {},
        onTenant() {},
      }),
    };
  },
};

/** Backstage's own, which sees all of it as without the trail. */
const auditor = createServiceFactory({
  service: coreServices.auditor,
  deps: {},
  factory: () => ({
    createEvent: async () => ({
      success: async () => {
        happened.push('logged');
      },
      fail: async () => {
        happened.push('logged');
      },
    }),
  }),
});

/** A plugin whose routes audit what the test sends. */
function auditingPlugin(pluginId: string, { tenantAware = false } = {}) {
  return createBackendPlugin({
    pluginId,
    register(env) {
      env.registerInit({
        deps: {
          auditor: coreServices.auditor,
          gate: tenantGateServiceRef,
          httpRouter: coreServices.httpRouter,
        },
        async init({ auditor: own, gate, httpRouter }) {
          if (tenantAware) {
            gate.declareTenantAware();
          }
          const router = Router();
          router.get('/:severity', (req, res, next) => {
            const work = async () => {
              const event = await own.createEvent({
                eventId: 'do-it',
                severityLevel: req.params.severity as 'low',
                request: req,
                meta: { ...req.query } as JsonObject,
              });
              if (req.query.fails) {
                await event.fail({ error: new Error('no') });
              } else {
                await event.success({ meta: { slug: 'created' } });
              }
              happened.push('answered');
              res.json({});
            };
            work().catch(next);
          });
          httpRouter.use(router);
        },
      });
    },
  });
}

describe('recordEvents', () => {
  let send: Awaited<ReturnType<typeof startGatedBackend>>;
  beforeAll(async () => {
    send = await startGatedBackend({
      trail,
      directory: {
        findActive: async slug => ({
          tenantId: `id of ${slug}`,
          tenantSlug: slug,
        }),
        forget: () => {},
      },
      features: [
        auditor,
        auditingPlugin('catalog', { tenantAware: true }),
        auditingPlugin('tenants'),
        auditingPlugin('auth'),
      ],
    });
  });
  beforeEach(() => {
    happened = [];
    begun = [];
    ended = [];
  });
  const call = (path: string, slug = 'acme') =>
    send(`/api/${path}`, {
      authorization: mockCredentials.user.header('user:default/jane'),
      'x-tenant-slug': slug,
      'user-agent': 'test',
    });

  it('records an event of the tenant of the request, before the answer', async () => {
    await call('catalog/medium?slug=globex');
    expect(begun).toEqual([
      {
        tenantSlug: 'acme',
        tenantId: 'id of acme',
        plugin: 'catalog',
        event: 'do-it',
        severity: 'medium',
        actor: 'user:default/jane',
        ip: expect.stringContaining('127.0.0.1'),
        userAgent: 'test',
        method: 'GET',
        path: '/api/catalog/medium',
        meta: { slug: 'globex' },
      },
    ]);
    expect(happened[0]).toBe('begun');
    expect(happened.slice(1, 3).sort()).toEqual(['logged', 'stored']);
    expect(happened[3]).toBe('answered');
  });

  it('records what fails', async () => {
    await call('catalog/high?fails=1');
    expect(ended).toMatchObject([
      { outcome: 'failed', error: { message: 'no' } },
    ]);
  });

  it('records nothing that is less severe than configured', async () => {
    await call('catalog/low');
    expect(begun).toEqual([]);
    expect(happened).toEqual(['logged', 'answered']);
  });

  it('takes the tenant of the registry from its path, also of one that is created', async () => {
    await call('tenants/medium?slug=globex', 'default');
    await call('tenants/medium', 'default');
    await call('tenants/medium?fails=1', 'default');
    expect(begun.map(each => each.tenantSlug)).toEqual(['globex', 'created']);
  });

  it('records nothing of a plugin that all tenants share', async () => {
    await call('auth/medium');
    expect(begun).toEqual([]);
  });
});
