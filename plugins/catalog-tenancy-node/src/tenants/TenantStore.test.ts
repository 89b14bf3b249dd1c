import { createTestDatabases, waitUntil } from '@internal/postgres/testUtils';
import type { TenancyDatabase } from '../__testUtils__/tenancyDatabase';
import { Registry } from './__testUtils__/registry';
import type { TenantStore } from './TenantStore';

const databases = createTestDatabases({ citus: true });

describe.each(databases.eachSupportedId())('the registry on %s', id => {
  let registry: Registry;
  let database: TenancyDatabase;
  let store: TenantStore;

  beforeAll(async () => {
    registry = await Registry.create(databases, id);
    ({ database, store } = registry);
  });
  afterAll(() => database.close());
  beforeEach(() => registry.empty());

  describe('list', () => {
    const slugs = async (options?: Parameters<typeof store.list>[0]) => {
      const { items, totalItems } = await store.list(options);
      return [items.map(({ tenant_slug }) => tenant_slug), totalItems];
    };

    beforeEach(async () => {
      for (const slug of ['b', 'a-b', 'ab', 'gone']) {
        await registry.createTenant(slug);
      }
      await store.delete('gone');
    });

    it('takes every character of what it looks for as itself', async () => {
      await store.update('ab', { tenant_name: '100 % of_a \\ b' });
      for (const search of ['%', '_', '\\', '% of_a \\']) {
        await expect(slugs({ search })).resolves.toEqual([['ab'], 1]);
      }
      for (const search of ['1%0', 'of%a', '0_%', '\\\\', "'"]) {
        await expect(slugs({ search })).resolves.toEqual([[], 0]);
      }
    });
  });

  describe('usage', () => {
    it('counts the live entities of several tenants, each without those of others', async () => {
      const tenants = [];
      for (const slug of ['none', 'one', 'two', 'gone', 'other']) {
        tenants.push(await registry.createTenant(slug));
      }
      const [none, one, two, gone, other] = tenants.map(
        ({ tenant_id }) => tenant_id,
      );
      await registry.insertEntity(one, 'e1');
      await registry.insertEntity(one, 'e2', new Date());
      await registry.insertEntity(two, 'e1');
      await registry.insertEntity(two, 'e2');
      await registry.insertEntity(gone, 'e1');
      await registry.insertEntity(other, 'e1');
      await store.delete('gone');
      await expect(
        store.countEntities([none, one, two, gone]),
      ).resolves.toEqual(
        new Map([
          [none, 0],
          [one, 1],
          [two, 2],
          [gone, 1],
        ]),
      );
      await expect(store.countEntities([])).resolves.toEqual(new Map());
    });
  });

  it('counts the entities of a tenant that has too much under way, when it is their turn', async () => {
    const { tenant_id: tenantId } = await registry.createTenant('busy');
    const pool = database.createPool({
      operations: { concurrency: 1, queue: 0 },
    });
    let end = () => {};
    const ended = new Promise<void>(resolve => {
      end = resolve;
    });
    const busy = pool.transaction({ tenantId }, () => ended);
    const counted = registry.storeOn(pool).countEntities([tenantId]);
    await Promise.race([
      counted,
      waitUntil('the count to wait', () => pool.counts.waiting === 1),
    ]).finally(end);
    await expect(counted).resolves.toEqual(new Map([[tenantId, 0]]));
    await busy;
  });

  it('gives nobody the slug of a purged tenant, nor a tenant back whose purge has begun', async () => {
    const retire = (slug: string) =>
      database.client.query(
        `insert into retired_slugs (tenant_slug, tenant_digest) values ($1, '')`,
        [slug],
      );
    await registry.createTenant('begun');
    await store.delete('begun');
    await retire('begun');
    await retire('purged');
    try {
      await expect(store.restore('begun')).rejects.toThrow(
        "The tenant 'begun' is being purged and can no longer be restored",
      );
      await expect(store.get('begun')).resolves.toMatchObject({
        deleted_at: expect.any(String),
      });
      await expect(registry.createTenant('purged')).rejects.toThrow(
        "The slug 'purged' belonged to a purged tenant",
      );
      await expect(store.get('purged')).resolves.toBeUndefined();
    } finally {
      await database.client.query('delete from retired_slugs');
    }
  });

  it('takes the path of the administrator for changes alone, and says why', async () => {
    await registry.createTenant('acme');
    await store.update('acme', { max_entities: 7 });
    await store.delete('acme');
    await store.restore('acme');
    await store.list();
    await store.get('acme');
    await store.usage('acme');
    expect(
      registry.auditor.createEvent.mock.calls.map(([{ meta }]) => meta),
    ).toEqual([
      { reason: 'create a tenant' },
      { reason: 'change a tenant' },
      { reason: 'delete a tenant' },
      { reason: 'restore a tenant' },
    ]);
    expect(registry.forget.mock.calls).toEqual(Array(4).fill(['acme']));
  });
});
