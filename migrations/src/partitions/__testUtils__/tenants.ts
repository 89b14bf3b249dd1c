import type {
  TestDatabaseId,
  TestDatabases,
} from '@internal/postgres/testUtils';
import type { CatalogDatabase } from '../../__testUtils__/catalogDatabase';
import { createCatalogDatabase } from '../../__testUtils__/catalogDatabase';
import { forEachTest } from '../../__testUtils__/forEachTest';
import { givePartition, takeBackPartition } from '../move';
import type { PartitionResult } from '../move';

/** Tenants without partitions: the one that gets some, and another one. */
export const TEAM = '00000000-0000-0000-0000-0000000000aa';
export const OTHER = '00000000-0000-0000-0000-0000000000bb';

export const TABLES = ['entities', 'relations', 'refresh_state'];

/** How many each tenant has. */
export const ENTITIES = 60;

/** The databases of a suite: each test has one, after phase 5, with three tenants. */
export interface TenantsSuite {
  /** The one of the test that runs. */
  database: CatalogDatabase;
  give(slug?: string): Promise<PartitionResult>;
  takeBack(slug?: string): Promise<PartitionResult>;
  query(sql: string): Promise<any[]>;
}

/** To be called where the tests of a suite are described. */
export function describeTenants(
  databases: TestDatabases,
  id: TestDatabaseId,
): TenantsSuite {
  const database = forEachTest(() =>
    createCatalogDatabase(databases, id, {
      entities: ENTITIES,
      phase: 5,
      prepare: addTenants,
    }),
  );
  return {
    database,
    give: (slug = 'my-team') =>
      database.migrate(({ context }) => givePartition(context, slug)),
    takeBack: (slug = 'my-team') =>
      database.migrate(({ context }) => takeBackPartition(context, slug)),
    query: async sql => (await database.client.query(sql)).rows,
  };
}

/** Adds tenants beside the default one, after phase 5. */
export async function addTenants(database: CatalogDatabase): Promise<void> {
  await database.client.query(`
    insert into tenants (tenant_id, tenant_slug, tenant_name, deleted_at) values
      ('${TEAM}', 'my-team', 'My team', null), ('${OTHER}', 'other', 'Other', null),
      (gen_random_uuid(), 'gone', 'Gone', now())`);
  for (const tenant of [TEAM, OTHER]) {
    await database.client.query(seedOf(tenant));
  }
}

/** What the tenants have in the tables, by the tables that the application uses. */
export async function contents(
  database: CatalogDatabase,
): Promise<Record<string, string[]>> {
  const tables: Record<string, string[]> = {};
  for (const table of TABLES) {
    const { rows } = await database.client.query(
      `select t::text as row from ${table} t order by 1`,
    );
    tables[table] = rows.map(({ row }) => row);
  }
  return tables;
}

/** How many rows a table itself has; null if there is none of that name. */
export async function countIn(
  database: CatalogDatabase,
  table: string,
  tenant: string,
): Promise<number | null> {
  const found = await database.client.query('select to_regclass($1) as found', [
    table,
  ]);
  if (!found.rows[0].found) {
    return null;
  }
  const { rows } = await database.client.query(
    `select count(*)::int as count from ${table} where tenant_id = $1`,
    [tenant],
  );
  return rows[0].count;
}

function seedOf(tenant: string): string {
  return `
    insert into entities (tenant_id, entity_ref, entity_kind, entity_name,
                          final_entity, hash)
    select '${tenant}', format('component:default/part-%s', i), 'component',
           format('part-%s', i), jsonb_build_object('n', i), md5(i::text)
      from generate_series(1, ${ENTITIES}) i;
    insert into relations (tenant_id, originating_entity_id, source_entity_ref, type, target_entity_ref)
    select tenant_id, entity_id, entity_ref, t.type, 'group:default/team'
      from entities, (values ('ownedBy'), ('dependsOn')) t (type)
     where tenant_id = '${tenant}';
    insert into refresh_state (tenant_id, entity_id, location_key, errors)
    select tenant_id, entity_id, 'url:' || entity_name, '[]'
      from entities where tenant_id = '${tenant}'`;
}
