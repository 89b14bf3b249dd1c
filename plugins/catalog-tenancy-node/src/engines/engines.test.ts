import { createTestDatabases, waitUntil } from '@internal/postgres/testUtils';
import type { JsonObject } from '@backstage/types';
import { mockLogger } from '../__testUtils__/serviceMocks';
import type { TenancyPool } from '../pool/TenancyPool';
import { Registry } from '../tenants/__testUtils__/registry';
import { RegistrySnapshot } from '../tenants/RegistrySnapshot';
import { TenantEngineStore } from './TenantEngineStore';

const databases = createTestDatabases();

const BY = 'user:default/admin';
const CONFIG: JsonObject = {
  catalog: { locations: [{ type: 'url', target: 'https://example.com/a' }] },
};

describe.each(databases.eachSupportedId())('engines of tenants on %s', id => {
  let registry: Registry;
  let store: TenantEngineStore;
  let otherPool: TenancyPool;
  let acmeId: string;
  const changed = jest.fn();

  beforeAll(async () => {
    registry = await Registry.create(databases, id);
    const { pool } = registry.database;
    otherPool = registry.database.createPool();
    store = new TenantEngineStore({
      pool,
      admin: registry.admin,
      changes: { changed },
    });
  });
  afterAll(() => registry.database.close());
  beforeEach(async () => {
    await registry.empty();
    acmeId = (await registry.createTenant('acme')).tenant_id;
    await registry.createTenant('globex');
  });

  const opened: RegistrySnapshot[] = [];
  afterEach(() => Promise.all(opened.splice(0).map(each => each.close())));

  /** In a process that is not the one that makes the changes. */
  async function listen() {
    const engines = new RegistrySnapshot({
      pool: otherPool,
      logger: mockLogger(),
    });
    opened.push(engines);
    const calls = jest.fn();
    engines.onChange(calls);
    await waitUntil(
      'the process to hear, and to say so',
      () => engines.isListening && calls.mock.calls.length > 0,
    );
    return { engines, calls };
  }

  describe('a tenant', () => {
    it('has none where it is the default one, which can neither be configured nor paused', async () => {
      await expect(store.get('default')).resolves.toBeUndefined();
      for (const change of [
        () => store.putConfig('default', CONFIG, { by: BY }),
        () => store.pause('default', { by: BY }),
        () => store.resume('default'),
      ]) {
        await expect(change()).rejects.toMatchObject({
          name: 'ConflictError',
          message: expect.stringContaining('the catalog plugin'),
        });
      }
    });
  });

  it('count as paused while their tenant is read-only', async () => {
    const until = (interval: string) =>
      registry.database.client.query(
        `update tenants set read_only_until = now() + $1::interval where tenant_slug = 'acme'`,
        [interval],
      );
    await until('1 minute');
    expect(await store.get('acme')).toMatchObject({
      pausedAt: expect.any(Date),
    });
    await until('-1 second');
    expect(await store.get('acme')).not.toHaveProperty(
      'pausedAt',
      expect.any(Date),
    );
    await until('1 minute');
    await store.pause('acme', { by: BY });
    await until('-1 second');
    expect(await store.get('acme')).toMatchObject({
      pausedAt: expect.any(Date),
      pausedBy: BY,
    });
  });

  describe('changes', () => {
    it.each<[string, () => Promise<unknown>]>([
      ['created', () => registry.createTenant('initech')],
      ['deleted', () => registry.store.delete('acme')],
      [
        'restored',
        async () => {
          await registry.store.delete('acme');
          await registry.store.restore('acme');
        },
      ],
      ['configured', () => store.putConfig('acme', CONFIG, { by: BY })],
      ['paused', () => store.pause('acme', { by: BY })],
      [
        'resumed',
        async () => {
          await store.pause('acme', { by: BY });
          await store.resume('acme');
        },
      ],
    ])('are heard in every process when a tenant is %s', async (_, change) => {
      const { engines, calls } = await listen();
      calls.mockClear();
      await change();
      await waitUntil('the call', () => calls.mock.calls.length > 0);
      const [named] = Object.values(calls.mock.lastCall[0]);
      expect([acmeId, 'acme', 'initech']).toContain(named);
      await expect(engines.list()).resolves.toEqual(await store.list());
    });
  });
});
