import { createTestDatabases, waitUntil } from '@internal/postgres/testUtils';
import type { TenancyDatabase } from '../__testUtils__/tenancyDatabase';
import type { TenancyPool } from '../pool/TenancyPool';
import { DirectoryUnderTest } from './__testUtils__/DirectoryUnderTest';
import { Registry } from './__testUtils__/registry';
import { DEFAULT_TENANT_ID } from './Tenant';

const databases = createTestDatabases({ versions: 'newest' });

describe.each(databases.eachSupportedId())('the directory on %s', id => {
  let registry: Registry;
  let database: TenancyDatabase;
  let otherPool: TenancyPool;
  const opened: DirectoryUnderTest[] = [];

  beforeAll(async () => {
    registry = await Registry.create(databases, id);
    database = registry.database;
    otherPool = database.createPool();
  });
  afterAll(() => database.close());
  beforeEach(() => registry.empty());
  afterEach(async () => {
    await Promise.all(
      opened.splice(0).map(({ directory }) => directory.close()),
    );
  });

  const open = (
    ...options: ConstructorParameters<typeof DirectoryUnderTest>
  ) => {
    const directory = new DirectoryUnderTest(...options);
    opened.push(directory);
    return directory;
  };

  /** As somebody does who changes the table by hand: nobody is notified. */
  const deleteSilently = (slug: string) =>
    database.client.query(
      'update tenants set deleted_at = now() where tenant_slug = $1',
      [slug],
    );

  it('answers all who list the engines at a time by two statements at most', async () => {
    const asked = open(database.pool);
    const { tenant_id } = await registry.createTenant('acme');
    const lists = await Promise.all(
      Array.from({ length: 5 }, () => asked.directory.list()),
    );
    for (const list of lists) {
      expect(list.map(({ tenantId }) => tenantId)).toEqual([tenant_id]);
    }
    expect(asked.questions).toBe(2);
  });

  describe('a look-up', () => {
    it('finds active tenants alone', async () => {
      const { directory } = open(database.pool);
      const acme = await registry.createTenant('acme');
      await registry.createTenant('gone');
      await registry.store.delete('gone');
      await expect(directory.findActive('acme')).resolves.toEqual({
        tenantId: acme.tenant_id,
        tenantSlug: 'acme',
      });
      await expect(directory.findActive('default')).resolves.toEqual({
        tenantId: DEFAULT_TENANT_ID,
        tenantSlug: 'default',
      });
      for (const slug of ['gone', 'nobody']) {
        await expect(directory.findActive(slug)).resolves.toBeUndefined();
      }
    });

    it('says of a tenant that it is read-only, until that ends', async () => {
      const { directory } = open(database.pool);
      await registry.createTenant('acme');
      for (const [until, expected] of [
        ['1 minute', true],
        ['-1 second', undefined],
      ]) {
        await database.client.query(
          `update tenants set read_only_until = now() + $1::interval where tenant_slug = 'acme'`,
          [until],
        );
        directory.forget();
        const acme = await directory.findActive('acme');
        expect(acme?.isReadOnly).toBe(expected);
      }
    });

    it('does not ask the database for what can be no slug', async () => {
      const tested = open(database.pool);
      for (const slug of ['', 'Acme', 'a\0b', "' or true --", 'a b', 'ä']) {
        await expect(
          tested.directory.findActive(slug),
        ).resolves.toBeUndefined();
      }
      expect(tested.questions).toBe(0);
    });
  });

  describe('while it hears', () => {
    it('remembers no slug that it did not find', async () => {
      const tested = open(database.pool);
      await tested.begin();
      const before = tested.questions;
      await tested.directory.findActive('nobody');
      await tested.directory.findActive('nobody');
      expect(tested.questions).toBe(before + 2);
      await registry.createTenant('nobody');
      await expect(
        tested.directory.findActive('nobody'),
      ).resolves.toBeDefined();
    });

    it('forgets in the end what changed without a notification', async () => {
      const tested = open(database.pool, { timing: { ttlMs: 20 } });
      await registry.createTenant('acme');
      await tested.begin('acme');
      await tested.directory.findActive('acme');
      await deleteSilently('acme');
      await waitUntil(
        'the directory to forget the tenant',
        async () => !(await tested.directory.findActive('acme')),
      );
      await expect(tested.remembers('acme')).resolves.toBe(false);
    });
  });

  describe('a tenant that is deleted', () => {
    it('is not found by the very next look-up of the same process', async () => {
      // On another channel: it cannot have heard of it in time.
      const tested = open(database.pool, { schema: 'elsewhere' });
      const store = registry.storeOn(database.pool, tested.directory);
      await registry.createTenant('acme');
      await tested.begin();
      await tested.directory.findActive('acme');
      await expect(tested.remembers('acme')).resolves.toBe(true);
      await store.delete('acme');
      await expect(
        tested.directory.findActive('acme'),
      ).resolves.toBeUndefined();
      await store.restore('acme');
      await expect(tested.directory.findActive('acme')).resolves.toBeDefined();
    });

    it('stops resolving in every process that is notified, and resolves again once restored', async () => {
      const tested = open(otherPool);
      await registry.createTenant('acme');
      await tested.begin();
      await tested.directory.findActive('acme');
      await expect(tested.remembers('acme')).resolves.toBe(true);
      await registry.store.delete('acme');
      await waitUntil(
        'the directory to forget the tenant',
        async () => !(await tested.directory.findActive('acme')),
      );
      await registry.store.restore('acme');
      await expect(tested.directory.findActive('acme')).resolves.toBeDefined();
    });

    it('is not remembered from an answer that was on its way', async () => {
      const tested = open(database.pool);
      const store = registry.storeOn(database.pool, tested.directory);
      await registry.createTenant('acme');
      await tested.begin();
      let release = () => {};
      tested.hold = new Promise(resolve => {
        release = resolve;
      });
      const asked = tested.asked();
      const early = tested.directory.findActive('acme');
      await asked;
      await store.delete('acme');
      // Nor does it wait for, or share, the answer from before.
      tested.hold = Promise.resolve();
      await expect(
        tested.directory.findActive('acme'),
      ).resolves.toBeUndefined();
      release();
      await expect(early).resolves.toBeDefined();
      await expect(
        tested.directory.findActive('acme'),
      ).resolves.toBeUndefined();
    });
  });

  it('hears of no other schema', async () => {
    const tested = open(database.pool, { schema: 'elsewhere' });
    const own = open(database.pool);
    await registry.createTenant('acme');
    await Promise.all([tested.begin('acme'), own.begin('acme')]);
    await tested.directory.findActive('acme');
    await own.directory.findActive('acme');
    await registry.store.update('acme', { tenant_name: 'New' });
    await waitUntil(
      'the directory to forget the tenant',
      async () => !(await own.remembers('acme')),
    );
    await expect(tested.remembers('acme')).resolves.toBe(true);
  });
});
