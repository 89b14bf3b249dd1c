import { createTestDatabases } from '@internal/postgres/testUtils';
import { forEachTest } from '../../__testUtils__/forEachTest';
import { createCatalogDatabase } from '../../__testUtils__/catalogDatabase';
import type { CatalogDatabase } from '../../__testUtils__/catalogDatabase';
import { DEFAULT_TENANT_ID } from '../../schema/tables';

const databases = createTestDatabases();

const TABLES = ['entities', 'refresh_state', 'relations'];

/** What the phase leaves behind, apart from the rows. */
async function readLayout({ client }: CatalogDatabase) {
  const { rows: columns } = await client.query(
    `select attrelid::regclass::text as table, attnotnull as required
       from pg_attribute where attname = 'tenant_id' and attrelid in
         ('entities'::regclass, 'relations'::regclass, 'refresh_state'::regclass)
      order by 1`,
  );
  const { rows: constraints } = await client.query(
    `select conrelid::regclass::text as table, conname as name,
            pg_get_constraintdef(oid) as definition, convalidated as valid
       from pg_constraint where contype in ('c', 'f')
        and pg_get_constraintdef(oid) like '%tenant_id%'
        and conrelid <> 'tenants'::regclass order by 1, 2`,
  );
  return { columns, constraints };
}

async function readRows({ client }: CatalogDatabase) {
  const { rows } = await client.query(
    `select t, count(*)::int as all,
            count(*) filter (where id = '${DEFAULT_TENANT_ID}')::int as filled
       from (select 'entities' as t, tenant_id as id from entities
             union all select 'relations', tenant_id from relations
             union all select 'refresh_state', tenant_id from refresh_state) rows
      group by t order by t`,
  );
  return rows;
}

const LAYOUT = {
  columns: TABLES.map(table => ({ table, required: true })),
  constraints: TABLES.map(table => ({
    table,
    name: `${table}_tenant_id_fkey`,
    definition:
      'FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id) ON DELETE CASCADE',
    valid: true,
  })),
};

const ROWS = [
  { t: 'entities', all: 200, filled: 200 },
  { t: 'refresh_state', all: 200, filled: 200 },
  { t: 'relations', all: 400, filled: 400 },
];

describe.each(databases.eachSupportedId())('phase 2 on %s', id => {
  const database = forEachTest(() => createCatalogDatabase(databases, id));
  beforeEach(async () => {
    await database.migrate(migration => migration.runPhase(1));
  });

  const runPhase2 = () => database.migrate(migration => migration.runPhase(2));

  const readTenants = async () =>
    (
      await database.client.query(
        'select tenant_id, tenant_slug, tenant_name from tenants',
      )
    ).rows;

  it('gives every row to the default tenant, and requires one from then on', async () => {
    await runPhase2();
    await expect(readTenants()).resolves.toEqual([
      {
        tenant_id: DEFAULT_TENANT_ID,
        tenant_slug: 'default',
        tenant_name: 'Our company',
      },
    ]);
    await expect(readRows(database)).resolves.toEqual(ROWS);
    await expect(readLayout(database)).resolves.toEqual(LAYOUT);
  });

  it('keeps a default tenant that is there already', async () => {
    await database.client.query(
      `insert into tenants (tenant_id, tenant_slug, tenant_name)
       values ('${DEFAULT_TENANT_ID}', 'headquarters', 'Headquarters')`,
    );
    await runPhase2();
    await expect(readTenants()).resolves.toEqual([
      expect.objectContaining({ tenant_name: 'Headquarters' }),
    ]);
  });
});
