import { createTestDatabases } from '@internal/postgres/testUtils';
import type { TenancyDatabase } from '../__testUtils__/tenancyDatabase';
import { ISO_TIME, outcomesOf, Registry } from './__testUtils__/registry';
import type { PostgresTenantStore } from './PostgresTenantStore';
import { DEFAULT_TENANT_ID, DEFAULT_TENANT_SLUG } from './Tenant';

const databases = createTestDatabases();

describe.each(databases.eachSupportedId())(
  'changes to the registry on %s',
  id => {
    let registry: Registry;
    let database: TenancyDatabase;
    let store: PostgresTenantStore;

    beforeAll(async () => {
      registry = await Registry.create(databases, id);
      ({ database, store } = registry);
    });
    afterAll(() => database.close());
    beforeEach(() => registry.empty());

    describe('update', () => {
      it('changes what is given, and moves updated_at', async () => {
        const before = await registry.createTenant('acme');
        const renamed = await store.update('acme', { tenant_name: 'New' });
        expect(renamed).toEqual({
          ...before,
          tenant_name: 'New',
          updated_at: expect.stringMatching(ISO_TIME),
        });
        expect(renamed.updated_at > before.updated_at).toBe(true);
        const limited = await store.update('acme', {
          max_entities: 1,
          entity_ttl_days: 2,
        });
        expect(limited).toMatchObject({
          tenant_name: 'New',
          max_entities: 1,
          entity_ttl_days: 2,
        });
        expect(limited.updated_at > renamed.updated_at).toBe(true);
        await expect(store.get('acme')).resolves.toEqual(limited);
      });

      it('gives the tenant limits of its own, and takes them away', async () => {
        const before = await registry.createTenant('acme');
        const limits = { concurrency: 3, requests_per_second: 50, burst: 200 };
        await expect(store.update('acme', limits)).resolves.toMatchObject(
          limits,
        );
        await expect(
          store.update('acme', { requests_per_second: 60 }),
        ).resolves.toMatchObject({ ...limits, requests_per_second: 60 });
        await expect(
          store.update('acme', { requests_per_second: null }),
        ).resolves.toMatchObject({
          concurrency: 3,
          requests_per_second: null,
          burst: null,
        });
        await expect(
          store.update('acme', { concurrency: null }),
        ).resolves.toEqual({ ...before, updated_at: expect.any(String) });
      });

      it('says what to run where the registry has no limits yet, and reads it as before', async () => {
        await registry.createTenant('acme');
        const { client } = database;
        await client.query(
          'begin; alter table tenants rename column burst to no_burst; commit',
        );
        try {
          for (const work of [
            () => store.update('acme', { concurrency: 3 }),
            () =>
              store.create({
                tenant_slug: 'other',
                tenant_name: 'Other',
                concurrency: 3,
              }),
          ]) {
            await expect(work()).rejects.toMatchObject({
              name: 'NotImplementedError',
              message: expect.stringMatching(/Run ".*phase5"/),
            });
          }
          await expect(
            store.update('acme', { tenant_name: 'New' }),
          ).resolves.toMatchObject({ tenant_name: 'New', burst: null });
          await expect(store.list({ search: 'acme' })).resolves.toMatchObject({
            items: [{ burst: null, concurrency: null }],
          });
        } finally {
          await client.query(
            'alter table tenants rename column no_burst to burst',
          );
        }
      });

      it('moves updated_at also where the clock was ahead', async () => {
        await registry.createTenant('acme');
        await database.client.query(
          `update tenants set updated_at = '2100-01-01T00:00:00Z'
          where tenant_slug = 'acme'`,
        );
        await expect(
          store.update('acme', { tenant_name: 'x' }),
        ).resolves.toMatchObject({ updated_at: '2100-01-01T00:00:00.001Z' });
      });

      it('finds neither a deleted tenant nor one that never was', async () => {
        await registry.createTenant('acme');
        await store.delete('acme');
        await expect(
          store.update('acme', { tenant_name: 'x' }),
        ).rejects.toMatchObject({
          name: 'NotFoundError',
          message: "The tenant 'acme' is deleted. It can be restored",
        });
        for (const slug of ['nobody', 'a\0b']) {
          await expect(
            store.update(slug, { tenant_name: 'x' }),
          ).rejects.toMatchObject({ name: 'NotFoundError' });
        }
      });

      it('does not wait for those who write for the tenant', async () => {
        const { tenant_id } = await registry.createTenant('acme');
        await database.client.query('begin');
        try {
          await registry.insertEntity(tenant_id, 'e1');
          await expect(
            store.update('acme', { max_entities: 7 }),
          ).resolves.toMatchObject({ max_entities: 7 });
          await expect(store.delete('acme')).resolves.toBeUndefined();
        } finally {
          await database.client.query('rollback');
        }
      });
    });

    describe('delete', () => {
      it('marks the tenant, and keeps its rows', async () => {
        const { tenant_id, updated_at } = await registry.createTenant('acme');
        await registry.insertEntity(tenant_id, 'e1');
        await store.delete('acme');
        const deleted = await store.get('acme');
        expect(deleted?.deleted_at).toMatch(ISO_TIME);
        expect(deleted!.updated_at > updated_at).toBe(true);
        await expect(store.usage('acme')).resolves.toMatchObject({
          live_entities: 1,
        });
      });

      it('finds a tenant once', async () => {
        await registry.createTenant('acme');
        const work = Array.from({ length: 4 }, () => store.delete('acme'));
        await expect(outcomesOf(work)).resolves.toEqual([
          ...Array(3).fill('NotFoundError'),
          'done',
        ]);
        await expect(store.delete('nobody')).rejects.toThrow(
          "No tenant with the slug 'nobody'",
        );
      });

      it('is refused for the default tenant, whatever its slug', async () => {
        const { client } = database;
        await expect(store.delete(DEFAULT_TENANT_SLUG)).rejects.toMatchObject({
          name: 'ConflictError',
          message:
            "The tenant 'default' cannot be deleted: requests that name no tenant belong to it",
        });
        const rename =
          'update tenants set tenant_slug = $1 where tenant_id = $2';
        await client.query(rename, ['home', DEFAULT_TENANT_ID]);
        try {
          await expect(store.delete('home')).rejects.toThrow(
            'cannot be deleted',
          );
        } finally {
          await client.query(rename, [DEFAULT_TENANT_SLUG, DEFAULT_TENANT_ID]);
        }
      });
    });

    describe('restore', () => {
      it('makes a deleted tenant active again, with its rows', async () => {
        const created = await registry.createTenant('acme');
        await registry.insertEntity(created.tenant_id, 'e1');
        await store.delete('acme');
        const restored = await store.restore('acme');
        expect(restored).toEqual({
          ...created,
          updated_at: expect.stringMatching(ISO_TIME),
        });
        await expect(store.usage('acme')).resolves.toMatchObject({
          live_entities: 1,
        });
      });

      it('leaves an active tenant as it is', async () => {
        const created = await registry.createTenant('acme');
        await expect(store.restore('acme')).resolves.toEqual(created);
      });

      it('does not find what never was', async () => {
        await expect(store.restore('nobody')).rejects.toMatchObject({
          name: 'NotFoundError',
        });
      });
    });
  },
);
