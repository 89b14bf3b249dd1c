import {
  createBackendPlugin,
  createServiceFactory,
} from '@backstage/backend-plugin-api';
import { metricsServiceRef } from '@backstage/backend-plugin-api/alpha';
import { mockServices, startTestBackend } from '@backstage/backend-test-utils';
import { availableVersions, Postgres } from '@internal/postgres';
import { createTestDatabases } from '@internal/postgres/testUtils';
import {
  type MockupStore,
  mockupStoreServiceRef,
} from 'backstage-plugin-mockup-node';
import { mockupStoreServiceMock } from 'backstage-plugin-mockup-node/testUtils';
import createKnex, { type Knex } from 'knex';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  ALICE,
  item,
  type MockupBackend,
  startMockupBackend,
  UNKNOWN_ID,
} from './__testUtils__/startMockupBackend';

const databases = createTestDatabases();

/** Another plugin of the same backend, which keeps the store that it is given. */
function pluginThatHolds(hold: (store: MockupStore) => void) {
  return createBackendPlugin({
    pluginId: 'other',
    register(env) {
      env.registerInit({
        deps: { store: mockupStoreServiceRef },
        async init({ store }) {
          hold(store);
        },
      });
    },
  });
}

describe('mockup plugin', () => {
  it.each(['better-sqlite3', 'mysql2', 'cockroachdb'])(
    'refuses to start on the database client %s',
    async client => {
      const other = createKnex({ client: 'cockroachdb' });
      other.client.config.client = client;
      await expect(startMockupBackend({ knex: other })).rejects.toThrow(
        `The mockup plugin needs PostgreSQL, but its database client is '${client}'`,
      );
    },
  );

  it('names the store as missing where another plugin needs it alone', async () => {
    await expect(
      startTestBackend({ features: [pluginThatHolds(() => {})] }),
    ).rejects.toThrow('mockup.store');
  });

  it('lets other plugins test against a store in memory', async () => {
    let store: MockupStore | undefined;
    await startTestBackend({
      features: [
        pluginThatHolds(given => {
          store = given;
        }),
        mockupStoreServiceMock.factory(),
      ],
    });
    await store!.create({ name: 'x' }, { owner: ALICE });
    await expect(store!.list()).resolves.toMatchObject({ totalItems: 1 });
  });

  it('lets other plugins test against mocked operations', async () => {
    const mock = mockupStoreServiceMock.mock({ delete: async () => true });
    let store: MockupStore | undefined;
    await startTestBackend({
      features: [
        pluginThatHolds(given => {
          store = given;
        }),
        mock.factory,
      ],
    });
    await expect(store!.delete('any')).resolves.toBe(true);
    expect(mock.delete).toHaveBeenCalledWith('any');
  });
});

describe.each(databases.eachSupportedId())('mockup plugin on %s', id => {
  let knex: Knex;
  let backend: MockupBackend;
  let store: MockupStore;

  const auditor = mockServices.auditor.mock();
  const count = { add: jest.fn() };
  const duration = { record: jest.fn() };

  const success = jest.fn();
  const fail = jest.fn();

  beforeAll(async () => {
    auditor.createEvent.mockResolvedValue({ success, fail });
    knex = await databases.init(id);
    backend = await startMockupBackend({
      knex,
      features: [
        pluginThatHolds(given => {
          store = given;
        }),
        auditor.factory,
        createServiceFactory({
          service: metricsServiceRef,
          deps: {},
          factory: () =>
            ({
              createCounter: () => count,
              createHistogram: () => duration,
            } as unknown as typeof metricsServiceRef.T),
        }),
      ],
    });
  });

  beforeEach(async () => {
    await knex('mockups').delete();
    jest.clearAllMocks();
    auditor.createEvent.mockResolvedValue({ success, fail });
  });

  it('gives other plugins the store that it serves', async () => {
    const { body } = await backend.alice.post('/mockups', { name: 'x' });
    const saved = await store.saveVersion(
      body.id,
      { layoutData: [item()] },
      { createdBy: ALICE },
    );
    const found = await backend.alice.get(`/mockups/${body.id}`);
    expect(found.body.latestVersion).toEqual(saved?.version);
    await expect(store.get(body.id)).resolves.toMatchObject({
      mockup: found.body,
    });
    await expect(store.list()).resolves.toMatchObject({ totalItems: 1 });
    await expect(store.listVersions(body.id)).resolves.toMatchObject({
      totalItems: 1,
    });
    await expect(
      store.getVersion(body.id, saved!.version.id),
    ).resolves.toBeDefined();
    await expect(store.getLatestVersion(body.id)).resolves.toBeDefined();
    await expect(store.update(body.id, { name: 'y' })).resolves.toBeDefined();
    await expect(store.delete(body.id)).resolves.toBe(true);
    await expect(
      store.create({ name: 'x' }, { owner: ALICE }),
    ).resolves.toBeDefined();
  });

  it('audits every write, by user, mockup and outcome', async () => {
    const { body } = await backend.alice.post('/mockups', { name: 'x' });
    const path = `/mockups/${body.id}`;
    const saved = await backend.alice.post(`${path}/versions`, {
      layoutData: [],
    });
    await backend.alice.patch(path, { name: 'y' });
    await backend.alice.delete(path);

    expect(auditor.createEvent.mock.calls.map(([event]) => event)).toEqual([
      expect.objectContaining({
        eventId: 'create-mockup',
        meta: {},
        // Below that Backstage logs nothing by default.
        severityLevel: 'medium',
      }),
      expect.objectContaining({
        eventId: 'save-version',
        meta: { id: body.id },
      }),
      expect.objectContaining({
        eventId: 'update-mockup',
        meta: { id: body.id },
      }),
      expect.objectContaining({
        eventId: 'delete-mockup',
        meta: { id: body.id },
      }),
    ]);
    expect(success.mock.calls).toEqual([
      [{ meta: { id: body.id } }],
      [{ meta: { vid: saved.body.id } }],
      [undefined],
      [undefined],
    ]);
    expect(fail).not.toHaveBeenCalled();
  });

  it('closes the audit event of every write that fails', async () => {
    await backend.alice.post('/mockups', { name: '' });
    await backend.alice.patch(`/mockups/${UNKNOWN_ID}`, { name: 'x' });
    await backend.service.post('/mockups', { name: 'x' });

    expect(auditor.createEvent).toHaveBeenCalledTimes(3);
    expect(success).not.toHaveBeenCalled();
    expect(fail.mock.calls.map(([{ error }]) => error.name)).toEqual([
      'InputError',
      'NotFoundError',
      'NotAllowedError',
    ]);
  });

  it('does not audit reads', async () => {
    await backend.alice.get('/mockups');
    expect(auditor.createEvent).not.toHaveBeenCalled();
  });

  it('counts and times operations by outcome', async () => {
    const created = await backend.alice.post('/mockups', { name: 'x' });
    const path = `/mockups/${created.body.id}`;
    await backend.alice.post('/mockups', {});
    await backend.alice.get(`/mockups/${UNKNOWN_ID}`);
    await backend.alice.patch(path, { name: 'y' }).set('If-Match', '"1"');
    await backend.service.delete(path);

    expect(count.add.mock.calls).toEqual([
      [1, { operation: 'create-mockup', outcome: 'success' }],
      [1, { operation: 'create-mockup', outcome: 'invalid' }],
      [1, { operation: 'get-mockup', outcome: 'not_found' }],
      [1, { operation: 'update-mockup', outcome: 'conflict' }],
      [1, { operation: 'delete-mockup', outcome: 'denied' }],
    ]);
    expect(duration.record).toHaveBeenCalledTimes(5);
    expect(duration.record).toHaveBeenLastCalledWith(expect.any(Number), {
      operation: 'delete-mockup',
      outcome: 'denied',
    });
  });
});

describe.each(databases.eachSupportedId())('an error of our own on %s', id => {
  it('is answered with 500 that says nothing of the statement', async () => {
    const knex = await databases.init(id);
    const backend = await startMockupBackend({ knex });
    await knex.schema.dropTable('mockup_versions');
    const response = await backend.alice.get(`/mockups/${UNKNOWN_ID}`);
    expect(response.status).toBe(500);
    expect(response.text).not.toMatch(/select|mockup_versions|\.ts:/);
  });
});

describe.each(databases.eachSupportedId())('migrations on %s', id => {
  it('are run once by backends that start at once', async () => {
    const knex = await databases.init(id);
    const pools = Array.from({ length: 4 }, () =>
      createKnex({
        client: 'pg',
        connection: knex.client.config.connection,
        pool: { min: 0, max: 1 },
      }),
    );
    const backends = await Promise.all(
      pools.map(pool => startMockupBackend({ knex: pool })),
    );
    for (const { alice } of backends) {
      expect((await alice.get('/mockups')).status).toBe(200);
    }
    await Promise.all(pools.map(pool => pool.destroy()));
  });

  it('leave the plugin working in a schema of its own', async () => {
    const knex = await databases.init(id);
    await knex.raw('create schema mockup');
    const inSchema = createKnex({
      client: 'pg',
      connection: knex.client.config.connection,
      searchPath: ['mockup'],
    });
    const backend = await startMockupBackend({ knex: inSchema });
    await backend.alice.post('/mockups', { name: 'Checkout' });
    const { body } = await backend.alice.get('/mockups?search=CHECK');
    expect(body).toHaveLength(1);
    const { rows } = await knex.raw(
      `select extnamespace::regnamespace::text as schema
         from pg_extension where extname = 'pg_trgm'`,
    );
    expect(rows).toEqual([{ schema: 'public' }]);
    await inSchema.destroy();
  });

  it('are left to the operator where the database service says so', async () => {
    const knex = await databases.init(id);
    await startMockupBackend({
      knex,
      migrations: { skip: true },
    });
    await expect(knex.schema.hasTable('mockups')).resolves.toBe(false);
  });
});

describe.each(availableVersions())('a server %s that goes away', version => {
  it('is answered with 503 that says nothing of it, and heals by itself', async () => {
    const dataDirectory = await mkdtemp(join(tmpdir(), 'mockup-test-'));
    const first = await Postgres.start({ version, dataDirectory });
    const { port } = first.connection;
    const knex = createKnex({
      client: 'pg',
      connection: { ...first.connection, database: 'postgres' },
      pool: { min: 0, max: 2, acquireTimeoutMillis: 2_000 },
      log: { warn() {}, error() {} },
    });
    const backend = await startMockupBackend({ knex });
    const { body: mockup } = await backend.alice.post('/mockups', {
      name: 'x',
    });

    await first.stop();
    const at = `/mockups/${mockup.id}`;
    const lost = [
      await backend.alice.get('/mockups'),
      await backend.alice.get(at),
      await backend.alice.patch(at, { name: 'y' }),
      await backend.alice.post(`${at}/versions`, { layoutData: [] }),
    ];
    for (const response of lost) {
      expect(response.status).toBe(503);
      expect(response.body.error).toEqual({
        name: 'ServiceUnavailableError',
        message:
          'The database of the mockup plugin cannot be reached, try again later',
      });
    }

    const second = await Postgres.start({ version, dataDirectory, port });
    const found = await backend.alice.get(at);
    expect(found.status).toBe(200);
    expect(found.body).toEqual({ ...mockup, latestVersion: null });

    await knex.destroy();
    await second.stop();
    await rm(dataDirectory, { recursive: true });
  });
});
