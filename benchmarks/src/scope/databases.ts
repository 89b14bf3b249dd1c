import type { Postgres } from '@internal/postgres';
import { SCHEMA } from '../catalog/constants';
import { createTenantDatabase } from '../catalog/tenantTables';
import {
  type Database,
  runStatements,
  withClient,
} from '../migration/database';
import { createCatalogTables } from '../migration/engine';
import { operate } from '../migration/operator';
import { createPattern } from './entities';
import type { Databases } from './layouts';
import type { Size } from './sizes';

/** Creates all of them, with no tenant and no entity yet. */
export async function createDatabases(
  postgres: Postgres,
  size: Size,
): Promise<Databases> {
  const databases: Databases = {
    partitions: await createTenantDatabase({
      postgres,
      name: 'scope_partitions',
    }),
    shared: await createTenantDatabase({
      postgres,
      name: 'scope_shared',
    }),
    single: await createSingleDatabase(postgres, 'scope_single'),
  };
  for (const database of Object.values(databases)) {
    await createPatterns(database, size);
  }
  return databases;
}

/** A catalog as it is before phase 1, with the index that its list needs. */
async function createSingleDatabase(
  postgres: Postgres,
  name: string,
): Promise<Database> {
  const database = { postgres, name };
  await runStatements({ postgres, name: 'postgres' }, [
    `create database ${name}`,
  ]);
  await operate(database, migration => createCatalogTables(migration.context));
  await runStatements(database, [
    `create index on ${SCHEMA}.entities (entity_kind, created_at desc)
      where deleted_at is null`,
  ]);
  return database;
}

/** What the entities of each tenant are made of. */
async function createPatterns(
  database: Database,
  { entitiesPerTenant }: Size,
): Promise<void> {
  const patterns = Array.from({ length: entitiesPerTenant }, (_, number) =>
    createPattern(number),
  );
  await withClient(database, async client => {
    await client.query('create schema source');
    await client.query(
      `create table source.patterns as
       select (row ->> 'number')::int as number, row ->> 'kind' as kind,
              row ->> 'name' as name, (row -> 'entity')::text as json
         from jsonb_array_elements($1::jsonb) row`,
      [JSON.stringify(patterns)],
    );
    await client.query('alter table source.patterns add primary key (number)');
  });
}
