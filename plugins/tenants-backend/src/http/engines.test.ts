import { createServiceFactory } from '@backstage/backend-plugin-api';
import { mockServices } from '@backstage/backend-test-utils';
import { ConflictError, InputError, NotFoundError } from '@backstage/errors';
import { createTestDatabases } from '@internal/postgres/testUtils';
import {
  DatabaseUnavailableError,
  type TenantEngines,
  tenantEnginesServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
import type { Caller } from '@internal/catalog-testing/caller';
import {
  ADMIN,
  ALICE,
  allowAll,
  CI,
  startTenantsBackend,
  type TenantsBackend,
} from '../__testUtils__/startTenantsBackend';
import { TenancyDatabase } from '../__testUtils__/TenancyDatabase';

const databases = createTestDatabases({ versions: 'newest' });

const JANE = 'user:default/jane';
const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const CONFIG = {
  catalog: {
    locations: [{ type: 'url', target: 'https://git.example.com/acme.yaml' }],
  },
  integrations: {
    gitlab: [{ host: 'git.example.com', token: '${ACME_TOKEN}' }],
  },
};

describe.each(databases.eachSupportedId().slice(-1))(
  'the engines of tenants on %s',
  id => {
    let database: TenancyDatabase;
    let backend: TenantsBackend;
    let without: TenantsBackend;
    const authorize = jest.fn();
    const auditor = mockServices.auditor.mock();
    const audited = jest.fn();

    const engines = {
      isAvailable: true,
      catalogVersion: '4.0.5',
      handler: (_req, _res, next) => next(),
      applyMutation: jest.fn(),
      served: jest.fn(),
      validateConfig: jest.fn(),
      isConfiguredByOperator: jest.fn(),
      statusOf: jest.fn(),
      report: jest.fn(),
      reports: jest.fn(),
      countSourceErrors: jest.fn(),
    } satisfies TenantEngines;

    const start = (available: boolean) =>
      startTenantsBackend({
        pool: database.createPool(),
        config: { tenancy: { enabled: true, admins: [ADMIN, CI] } },
        features: [
          mockServices.permissions.mock({ authorize }).factory,
          auditor.factory,
          ...(available
            ? [
                createServiceFactory({
                  service: tenantEnginesServiceRef,
                  deps: {},
                  factory: () => engines,
                }),
              ]
            : []),
        ],
      });

    beforeAll(async () => {
      database = await TenancyDatabase.create(databases, id);
      backend = await start(true);
      without = await start(false);
    });
    afterAll(() => database.close());

    beforeEach(async () => {
      jest.clearAllMocks();
      authorize.mockImplementation(allowAll);
      engines.validateConfig.mockResolvedValue(undefined);
      engines.isConfiguredByOperator.mockReturnValue(false);
      engines.report.mockResolvedValue({ state: 'running', faults: 0 });
      engines.reports.mockResolvedValue(new Map());
      engines.countSourceErrors.mockResolvedValue(new Map());
      auditor.createEvent.mockImplementation(
        async ({ request: _, ...event }) => ({
          success: async more => audited({ ...event, ...more }),
          fail: async ({ error, ...more }) =>
            audited({ ...event, ...more, error: String(error) }),
        }),
      );
      await database.fill({
        acme: { [JANE]: 'admin', [ALICE]: 'member' },
        globex: { [ALICE]: 'admin' },
      });
    });

    const insertEntity = () =>
      database.client.query(
        `insert into entities (tenant_id, entity_ref, entity_kind, entity_name, final_entity, hash)
         select tenant_id, 'api:default/a', 'api', 'a', '{}', '' from tenants
          where tenant_slug = 'acme'`,
      );

    /** Status and, where it was refused, the message. */
    const told = ({ status, body }: { status: number; body: any }) => [
      status,
      body.error?.message,
    ];

    it('and what else is changed is answered once its audit event is closed', async () => {
      let isAnswered: boolean | undefined;
      auditor.createEvent.mockImplementationOnce(async ({ request }) => ({
        success: async () => {
          isAnswered = request?.res?.writableEnded;
        },
        fail: async () => undefined,
      }));
      const path = '/acme/members/user%3Adefault%2Fbob';
      const { status } = await backend.admin.put(path, { role: 'member' });
      expect([status, isAnswered]).toEqual([201, false]);
    });

    describe('…/engine/pause', () => {
      const pauseOf = async () => {
        const { body } = await backend.admin.get('/acme/status');
        return [body.state, body.paused_at, body.paused_by];
      };

      it('PUT pauses, since when and by whom the status says, again the same', async () => {
        await backend.admin.put('/acme/engine/pause').expect(204);
        const paused = await pauseOf();
        expect(paused).toEqual([
          'paused',
          expect.stringMatching(ISO_TIME),
          ADMIN,
        ]);
        await backend.service(CI).put('/acme/engine/pause').expect(204);
        expect(await pauseOf()).toEqual(paused);
      });

      it('DELETE resumes, and may be repeated', async () => {
        await backend.admin.put('/acme/engine/pause');
        for (let time = 1; time <= 2; time += 1) {
          await backend.admin.delete('/acme/engine/pause').expect(204);
        }
        expect(await pauseOf()).toEqual(['running', null, null]);
      });
    });

    describe('GET /?summary=true', () => {
      const summariesOf = ({ body }: { body: any[] }) =>
        body.map(({ tenant_slug, state, entities }) => [
          tenant_slug,
          state,
          entities,
        ]);

      it('adds to each tenant what feeds it and how many entities it has', async () => {
        const { body: acme } = await backend.admin.get('/acme');
        await backend.admin.put('/globex/engine/pause');
        await insertEntity();
        engines.reports.mockResolvedValue(
          new Map([[acme.tenant_id, { state: 'failed', faults: 0 }]]),
        );
        const response = await backend.admin.get('?summary=true&deleted=true');
        expect(summariesOf(response)).toEqual([
          ['acme', 'failed', 1],
          ['default', 'catalog_plugin', 0],
          ['globex', 'paused', 0],
          ['gone', null, 0],
        ]);
        expect(response.body[0]).toMatchObject(acme);
        expect(response.get('X-Total-Count')).toBe('4');
        // However many engines there are.
        expect(engines.reports).toHaveBeenCalledTimes(1);
      });

      it('narrows the list to a state, and orders it', async () => {
        const { body: acme } = await backend.admin.get('/acme');
        await backend.admin.patch('/acme', { tenant_name: 'Zenith' });
        await backend.admin.put('/globex/engine/pause');
        engines.reports.mockResolvedValue(
          new Map([[acme.tenant_id, { state: 'running', faults: 0 }]]),
        );
        engines.countSourceErrors.mockResolvedValue(
          new Map([[acme.tenant_id, 1]]),
        );
        const slugsOf = async (query: string) => {
          const { body, headers } = await backend.admin.get(
            `?summary=true&${query}`,
          );
          const slugs = body.map(({ tenant_slug }: any) => tenant_slug);
          return [Number(headers['x-total-count']), ...slugs];
        };
        await expect(slugsOf('state=paused')).resolves.toEqual([1, 'globex']);
        await expect(slugsOf('state=with_errors')).resolves.toEqual([
          1,
          'acme',
        ]);
        // Of an engine whose errors were not counted in time.
        engines.countSourceErrors.mockResolvedValue(
          new Map([[acme.tenant_id, null]]),
        );
        await expect(slugsOf('state=with_errors')).resolves.toEqual([
          1,
          'acme',
        ]);
        await expect(slugsOf('state=deleted')).resolves.toEqual([1, 'gone']);
        engines.countSourceErrors.mockClear();
        await expect(slugsOf('state=running')).resolves.toEqual([1, 'acme']);
        // Reads the tables of the engines on the page alone.
        expect(engines.countSourceErrors.mock.calls).toEqual([
          [[acme.tenant_id]],
        ]);
        await expect(slugsOf('state=failed')).resolves.toEqual([0]);
        await expect(slugsOf('orderBy=name&limit=2')).resolves.toEqual([
          3,
          'default',
          'globex',
        ]);
        await expect(slugsOf('orderBy=name&limit=2&offset=2')).resolves.toEqual(
          [3, 'acme'],
        );
        // Not of all tenants where a page needs but one.
        expect(engines.reports.mock.lastCall).toEqual([[acme.tenant_id]]);
      });
    });

    describe('GET …/status', () => {
      it('says of an engine what the process knows that does its background work', async () => {
        await insertEntity();
        const at = (minute: number) => `2026-11-22T18:0${minute}:00.000Z`;
        engines.report.mockResolvedValue({
          state: 'failed',
          reason: 'It has no token',
          last_error: 'It has no token',
          last_error_at: at(1),
          last_full_run_at: at(2),
          oldest_due_at: at(3),
          lag_seconds: 60,
          process: 'host 1',
          lease_expires_at: at(4),
          faults: 2,
          source_error_count: 21,
          source_errors: [
            {
              location: 'https://example.com/a.yaml',
              entity_ref: 'component:default/a b',
              message: 'Policy check failed',
              next_try_at: at(5),
            },
          ],
        });
        const { status, body } = await backend.user(JANE).get('/acme/status');
        expect([status, body]).toEqual([
          200,
          {
            tenant_slug: 'acme',
            state: 'failed',
            reason: 'It has no token',
            paused_at: null,
            paused_by: null,
            entities: 1,
            faults: 2,
            lag_seconds: 60,
            oldest_due_at: '2026-11-22T18:03:00.000Z',
            source_errors: [
              {
                location: 'https://example.com/a.yaml',
                entity_ref: 'component:default/a b',
                message: 'Policy check failed',
                next_try_at: '2026-11-22T18:05:00.000Z',
              },
            ],
            source_error_count: 21,
            last_error: 'It has no token',
            last_error_at: '2026-11-22T18:01:00.000Z',
            last_full_run_at: '2026-11-22T18:02:00.000Z',
            process: 'host 1',
            lease_expires_at: '2026-11-22T18:04:00.000Z',
            catalog_version: '4.0.5',
          },
        ]);
      });
    });

    describe('…/catalog-config', () => {
      it('is written as a whole, by the tenant’s admin, and read as it was written', async () => {
        await backend.admin.put('/acme/catalog-config', CONFIG);
        const plugins = { jenkins: { instances: [{ name: 'acme' }] } };
        const sent = { catalog: CONFIG.catalog, plugins };
        const put = await backend.user(JANE).put('/acme/catalog-config', sent);
        expect([put.status, put.body]).toEqual([
          200,
          {
            configured_by: 'registry',
            catalog: CONFIG.catalog,
            integrations: {},
            plugins,
            updated_at: expect.stringMatching(ISO_TIME),
            updated_by: JANE,
          },
        ]);
        const found = await backend.user(JANE).get('/acme/catalog-config');
        expect([found.status, found.body]).toEqual([200, put.body]);
        expect(engines.validateConfig).toHaveBeenLastCalledWith(
          { tenantId: expect.any(String), tenantSlug: 'acme' },
          { ...sent, integrations: {} },
        );
      });

      describe('with If-Match', () => {
        const path = '/acme/catalog-config';
        const OTHER = { catalog: { rules: [{ allow: ['API'] }] } };
        const tagOf = async () =>
          (await backend.user(JANE).get(path)).headers.etag;
        const put = (sent: object, tag: string) =>
          backend.user(JANE).put(path, sent).set('If-Match', tag);

        it('keeps what somebody else has written since: 412, which says who', async () => {
          const stale = await tagOf();
          await backend.admin.put(path, OTHER);
          for (const tag of [stale, `W/${await tagOf()}`]) {
            expect(told(await put(CONFIG, tag))).toEqual([
              412,
              expect.stringContaining(`was changed by ${ADMIN} since`),
            ]);
          }
          expect((await backend.user(JANE).get(path)).body).toMatchObject(
            OTHER,
          );
        });

        it('lets one of two writers through that have read the same, or write the first', async () => {
          const write = async (name: string, tag: string) => {
            const answers = await Promise.all(
              [CONFIG, OTHER].map(sent =>
                backend.user(JANE).put(path, sent).set(name, tag),
              ),
            );
            return answers.map(({ status }) => status).sort();
          };
          expect(await write('If-Match', '*')).toEqual([412, 412]);
          expect(await write('If-None-Match', '*')).toEqual([200, 412]);
          await backend.admin.put(path, {});
          expect(await write('If-Match', await tagOf())).toEqual([200, 412]);
          expect(await write('If-None-Match', '*')).toEqual([412, 412]);
        });
      });

      it('is not stored if the engines refuse it', async () => {
        engines.validateConfig.mockRejectedValue(
          new InputError('catalog.locations.0.target must be a URL'),
        );
        expect(
          told(await backend.admin.put('/acme/catalog-config', CONFIG)),
        ).toEqual([400, 'catalog.locations.0.target must be a URL']);
        const { body } = await backend.admin.get('/acme/catalog-config');
        expect(body.configured_by).toBeNull();
      });

      it('is not stored for an admin who is removed while the engines check it', async () => {
        engines.validateConfig.mockImplementation(async () => {
          await backend.admin.delete(
            `/acme/members/${encodeURIComponent(JANE)}`,
          );
        });
        expect(
          told(await backend.user(JANE).put('/acme/catalog-config', CONFIG)),
        ).toEqual([403, 'You are no longer an admin of this tenant']);
        const { body } = await backend.admin.get('/acme/catalog-config');
        expect(body.configured_by).toBeNull();
      });

      it('is the operator’s alone where app-config has it: no content, and 409', async () => {
        await backend.admin.put('/acme/catalog-config', CONFIG);
        engines.isConfiguredByOperator.mockReturnValue(true);
        const { body, headers } = await backend
          .user(JANE)
          .get('/acme/catalog-config');
        // Not even of the content that is stored, and not used: it would say when it changes.
        expect(headers.etag ?? 'W/').toMatch(/^W\//);
        expect(body).toEqual({
          configured_by: 'operator',
          updated_at: null,
          updated_by: null,
        });
        expect(
          told(await backend.user(JANE).put('/acme/catalog-config', CONFIG)),
        ).toEqual([409, expect.stringContaining('configured in app-config')]);
      });
    });

    it.each(['gone', 'none', 'default'])(
      'none is there to be paused in the tenant %s',
      async slug => {
        const path = `/${slug}/engine/pause`;
        expect((await backend.admin.put(path)).status).toBe(404);
        expect((await backend.admin.delete(path)).status).toBe(404);
      },
    );

    it('an answer has the configuration of its own tenant alone', async () => {
      await backend.user(JANE).put('/acme/catalog-config', CONFIG);
      const { body } = await backend.alice.get('/globex/catalog-config');
      expect(body).toMatchObject({ catalog: {}, updated_by: null });
      const refused = await backend.alice.get('/acme/catalog-config');
      expect(JSON.stringify(refused.body)).not.toContain('git.example.com');
    });

    describe('the audit log', () => {
      const eventOf = (eventId: string) =>
        audited.mock.calls
          .map(([event]) => event)
          .find(event => event.eventId === eventId);

      it.each([
        ['that is stored', { catalog: { name: 's3cret' } }],
        ['that is refused by its form', { catalog: 's3cret' }],
        ['that is no JSON', '{"catalog": s3cret'],
      ])('has nothing of a configuration %s', async (_, sent) => {
        await backend.admin
          .put('/acme/catalog-config')
          .set('Content-Type', 'application/json')
          .send(sent);
        expect(eventOf('put-tenant-catalog-config')).toBeDefined();
        expect(JSON.stringify(audited.mock.calls)).not.toContain('s3cret');
      });

      it('has nothing of a configuration that the engines refuse, but why it was not stored otherwise', async () => {
        const errorOf = async (caller: Caller, tag = '*') => {
          audited.mockClear();
          await caller.put('/acme/catalog-config', CONFIG).set('If-Match', tag);
          return eventOf('put-tenant-catalog-config').error;
        };
        engines.validateConfig.mockRejectedValue(new InputError('got s3cret'));
        await expect(errorOf(backend.admin)).resolves.toBe(
          'Error: InputError, whose message is left out: it may quote the body',
        );
        await expect(errorOf(backend.alice)).resolves.toMatch(
          /^NotAllowedError: You may not update the engine/,
        );
        for (const error of [
          new NotFoundError('why'),
          new ConflictError('why'),
          new DatabaseUnavailableError('why'),
        ]) {
          engines.validateConfig.mockRejectedValue(error);
          await expect(errorOf(backend.admin)).resolves.toMatch(/: why$/);
        }
        engines.validateConfig.mockResolvedValue(undefined);
        await expect(errorOf(backend.admin, '"1"')).resolves.toMatch(
          /^PreconditionFailedError: ./,
        );
      });
    });

    it('without engines in this backend, says what to add', async () => {
      await backend.admin.put('/acme/catalog-config', CONFIG);
      const refused = [
        409,
        expect.stringMatching(
          /^This backend has no catalog engines.*backstage-plugin-catalog-backend-module-tenant-engines/,
        ),
      ];
      expect(
        told(await without.admin.put('/acme/catalog-config', CONFIG)),
      ).toEqual(refused);
      expect((await without.admin.get('/acme/status')).body).toMatchObject({
        state: 'unknown',
        reason: expect.stringContaining('This backend has no catalog engines'),
      });
    });
  },
);
