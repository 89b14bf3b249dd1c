import { createTestDatabases } from '@internal/postgres/testUtils';
import type { TenancyDatabase } from '../__testUtils__/tenancyDatabase';
import { Registry } from './__testUtils__/registry';
import type { TenantStore } from './TenantStore';

const databases = createTestDatabases();

describe.each(databases.eachSupportedId())(
  'changes to the registry on %s',
  id => {
    let registry: Registry;
    let database: TenancyDatabase;
    let store: TenantStore;

    beforeAll(async () => {
      registry = await Registry.create(databases, id);
      ({ database, store } = registry);
    });
    afterAll(() => database.close());
    beforeEach(() => registry.empty());

    describe('update', () => {
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
  },
);
