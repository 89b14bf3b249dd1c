import { createTestDatabases } from '@internal/postgres/testUtils';
import { createCatalogDatabase } from '../../__testUtils__/catalogDatabase';
import type { CatalogDatabase } from '../../__testUtils__/catalogDatabase';
import { tenantsTable } from './10_tenants_table';

const databases = createTestDatabases();

describe.each(databases.eachSupportedId())('phase 1 on %s', id => {
  let database: CatalogDatabase;
  beforeEach(async () => {
    database = await createCatalogDatabase(databases, id);
  });
  afterEach(() => database.close());

  it('adds a nullable column that is empty in the rows that are there', async () => {
    await database.migrate(migration => migration.runPhase(1));
    const { rows } = await database.client.query(
      'select count(*)::int as all, count(tenant_id)::int as filled from entities',
    );
    expect(rows).toEqual([{ all: 200, filled: 0 }]);
  });

  it('is undone without a trace', async () => {
    await database.migrate(migration => migration.runPhase(1));
    await database.migrate(migration => migration.undoFrom(tenantsTable));
    const { rows } = await database.client.query(
      `select to_regclass('tenants') as tenants,
              to_regclass('entities_without_tenant_idx') as index`,
    );
    expect(rows).toEqual([{ tenants: null, index: null }]);
    await database.migrate(migration => migration.runPhase(1));
  });
});
