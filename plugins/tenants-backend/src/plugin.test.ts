import { mockServices } from '@backstage/backend-test-utils';
import {
  createBackendModule,
  createServiceFactory,
} from '@backstage/backend-plugin-api';
import { metricsServiceRef } from '@backstage/backend-plugin-api/alpha';
import { createTestDatabases } from '@internal/postgres/testUtils';
import { tenantInvitationsExtensionPoint } from 'backstage-plugin-catalog-tenancy-node';
import { startTenantsBackend } from './__testUtils__/startTenantsBackend';
import { TenancyDatabase } from './__testUtils__/TenancyDatabase';

const databases = createTestDatabases({ versions: 'newest' });

const ACME = { tenant_slug: 'acme', tenant_name: 'Acme' };

describe.each(databases.eachSupportedId())('tenants plugin on %s', id => {
  let database: TenancyDatabase;

  const open = async (phase: 0 | 1 | 5) => {
    database = await TenancyDatabase.create(databases, id, phase);
  };
  afterEach(() => database.close());

  const startAsOwner = async (phase: 0 | 1) => {
    await open(phase);
    const { user, password } = database.connection;
    return startTenantsBackend({
      pool: database.createPool({ login: { user, password } }),
    });
  };

  it.each([
    ['there is no registry yet', 0],
    ['the migration of the registry is not done', 1],
  ] as const)('names the next command where %s', async (_, phase) => {
    const backend = await startAsOwner(phase);
    for (const { status, headers, body } of [
      await backend.admin.get(''),
      await backend.admin.get('/default/usage'),
    ]) {
      expect([status, headers['retry-after'], body.error]).toMatchObject([
        503,
        '10',
        {
          name: 'ServiceUnavailableError',
          message:
            'A table of tenants, or a column of one, is missing from the schema "tenancy" of the database: ' +
            'the migration makes it. Where the catalog is not adopted yet, ' +
            '"npx backstage-catalog-tenancy-cli adopt" comes first; ' +
            '"npx backstage-catalog-tenancy-cli status" names what comes next.',
        },
      ]);
    }
    // Which of the two depends on whether another database of the server has the
    // role of the administrator.
    const refused = await backend.admin.post('', ACME);
    expect([501, 503]).toContain(refused.status);
    expect(refused.text).not.toMatch(/insert|select|set local|127\.0\.0\.1/i);
  });

  it('does not start with two modules that send invitations', async () => {
    await open(1);
    const senders = ['mail', 'chat'].map(moduleId =>
      createBackendModule({
        pluginId: 'tenants',
        moduleId,
        register(env) {
          env.registerInit({
            deps: { invitations: tenantInvitationsExtensionPoint },
            async init({ invitations }) {
              invitations.setSender({ send: async () => {} });
            },
          });
        },
      }),
    );
    await expect(
      startTenantsBackend({ pool: database.createPool(), features: senders }),
    ).rejects.toThrow('Invitations already have a sender');
  });

  it('goes on to read where portal_admin is withheld, and answers changes with 501', async () => {
    await open(5);
    const user = `withheld_http_${process.pid}_${id.toLowerCase()}`;
    const password = 'only-for-tests';
    await database.client.query(
      `create role ${user} login noinherit password '${password}';
       grant usage on schema tenancy to ${user};
       grant select on tenants to ${user}`,
    );
    const pool = database.createPool({ login: { user, password } });
    const backend = await startTenantsBackend({ pool });
    const read = await backend.admin.get('');
    const answers = [
      await backend.admin.post('', ACME),
      await backend.admin.patch('/default', { tenant_name: 'x' }),
      await backend.admin.delete('/default'),
      await backend.admin.post('/default/restore'),
    ];
    await pool.close();
    await database.client.query(`drop owned by ${user}; drop role ${user}`);
    expect(read.status).toBe(200);
    for (const { status, body } of answers) {
      expect(status).toBe(501);
      expect(body.error.message).toContain('portal_admin');
    }
  });

  it('audits and counts each operation by its outcome', async () => {
    await open(5);
    const auditor = mockServices.auditor.mock();
    const success = jest.fn(async () => {});
    const fail = jest.fn(async () => {});
    auditor.createEvent.mockResolvedValue({ success, fail });
    const count = jest.fn();
    const backend = await startTenantsBackend({
      pool: database.createPool(),
      features: [
        auditor.factory,
        createServiceFactory({
          service: metricsServiceRef,
          deps: {},
          factory: () =>
            ({
              createCounter: () => ({ add: count }),
              createHistogram: () => ({ record: () => {} }),
            } as unknown as typeof metricsServiceRef.T),
        }),
      ],
    });
    await backend.admin.post('', ACME);
    await backend.admin.post('', ACME);
    await backend.admin.get('/acme');
    await backend.admin.get('/nobody');
    await backend.admin.patch('/acme', {});
    await backend.admin.patch('/acme', { tenant_name: 'A', max_entities: 1 });
    await backend.alice.delete('/acme');
    await backend.admin.delete('/acme');

    const events = auditor.createEvent.mock.calls.map(([event]) => event);
    const requests = events.filter(({ request }) => request !== undefined);
    expect(
      requests.map(event => [event.eventId, event.severityLevel, event.meta]),
    ).toEqual([
      ['create-tenant', 'medium', {}],
      ['create-tenant', 'medium', {}],
      ['get-tenant', 'low', { slug: 'acme' }],
      ['get-tenant', 'low', { slug: 'nobody' }],
      ['update-tenant', 'medium', { slug: 'acme' }],
      ['update-tenant', 'medium', { slug: 'acme' }],
      ['delete-tenant', 'medium', { slug: 'acme' }],
      ['delete-tenant', 'medium', { slug: 'acme' }],
    ]);
    // Every event is closed: those of requests, and those of the administrator.
    expect(success.mock.calls.length + fail.mock.calls.length).toBe(12);
    expect(count.mock.calls).toEqual(
      [
        ['create-tenant', 'success'],
        ['create-tenant', 'conflict'],
        ['get-tenant', 'success'],
        ['get-tenant', 'not_found'],
        ['update-tenant', 'invalid'],
        ['update-tenant', 'success'],
        ['delete-tenant', 'denied'],
        ['delete-tenant', 'success'],
      ].map(([operation, outcome]) => [1, { operation, outcome }]),
    );
  });

  it('audits which tenant was asked for, and what for, also where that fails', async () => {
    await open(5);
    const auditor = mockServices.auditor.mock();
    const told: unknown[] = [];
    // As Backstage puts it together.
    auditor.createEvent.mockImplementation(
      async ({ eventId, meta: asked, request }) => {
        const close =
          (outcome: string) => async (options?: { meta?: object }) => {
            if (request) {
              told.push([eventId, outcome, { ...asked, ...options?.meta }]);
            }
          };
        return { success: close('success'), fail: close('fail') };
      },
    );
    const backend = await startTenantsBackend({
      pool: database.createPool(),
      features: [auditor.factory],
    });
    const changes = { tenant_name: 'A', max_entities: 1 };
    await backend.admin.post('', ACME);
    await backend.admin.post('', ACME);
    await backend.admin.post('', { tenant_slug: 'acme' });
    await backend.alice.post('', ACME);
    await backend.alice.post('', { ...ACME, tenant_slug: 'a\nb' });
    await backend.alice.post('', { ...ACME, tenant_slug: 'a'.repeat(64) });
    const malformed = await backend.alice.post('').type('json').send('{');
    expect(malformed.status).toBe(403);
    await backend.admin.patch('/acme', changes);
    await backend.alice.patch('/acme', changes);
    await backend.admin.patch('/acme', { tenant_name: 7 });
    await backend.admin.delete('/acme');
    await backend.admin.delete('/acme');
    await backend.admin.post('/acme/restore');
    await backend.alice.post('/acme/restore');

    const slug = 'acme';
    expect(told).toEqual([
      ['create-tenant', 'success', { slug }],
      ['create-tenant', 'fail', { slug }],
      ['create-tenant', 'fail', { slug }],
      ['create-tenant', 'fail', { slug }],
      ['create-tenant', 'fail', {}],
      ['create-tenant', 'fail', {}],
      ['create-tenant', 'fail', {}],
      ['update-tenant', 'success', { slug, changes }],
      ['update-tenant', 'fail', { slug, changes }],
      ['update-tenant', 'fail', { slug }],
      ['delete-tenant', 'success', { slug }],
      ['delete-tenant', 'fail', { slug }],
      ['restore-tenant', 'success', { slug }],
      ['restore-tenant', 'fail', { slug }],
    ]);
  });
});
