import type { Postgres } from '@internal/postgres';
import { SCHEMA } from '../catalog/constants';
import { createEntity } from '../catalog/entities';
import { createTenantDatabase } from '../catalog/tenantTables';
import {
  type Database,
  runStatements,
  withClient,
} from '../migration/database';
import type { Size } from './sizes';

/** The tenant that is measured. */
export const TENANT_ID = '11111111-1111-4111-8111-111111111111';

const BATCH = 500;

/** Creates a database with the tables of tenants, and a tenant with entities. */
export async function createDatabase(
  postgres: Postgres,
  { entities }: Size,
): Promise<Database> {
  const database = await createTenantDatabase({ postgres, name: 'candidates' });
  await runStatements(database, [
    `insert into ${SCHEMA}.tenants (tenant_id, tenant_slug, tenant_name)
     values ('${TENANT_ID}', 'measured', 'Measured')`,
  ]);
  await withClient(database, async client => {
    for (let first = 0; first < entities; first += BATCH) {
      const batch = Array.from(
        { length: Math.min(BATCH, entities - first) },
        (_, index) => createEntity(first + index),
      );
      await client.query(insertInto('where tenant_id = $1'), [
        TENANT_ID,
        ...columnsOf(batch),
      ]);
    }
    await client.query('vacuum (analyze)');
  });
  return database;
}

/** Adds tenants with a few entities each. */
export async function addTenants(
  database: Database,
  { otherTenants, entitiesOfOthers }: Size,
): Promise<void> {
  await withClient(database, async client => {
    await client.query(
      `insert into ${SCHEMA}.tenants (tenant_slug, tenant_name)
       select 'small-' || number, 'Small' from generate_series(1, $1::int) number`,
      [otherTenants],
    );
    const batch = Array.from({ length: entitiesOfOthers }, (_, index) =>
      createEntity(index),
    );
    await client.query(insertInto('where tenant_id <> $1'), [
      TENANT_ID,
      ...columnsOf(batch),
    ]);
    await client.query('vacuum (analyze)');
  });
}

function insertInto(tenants: string): string {
  return `
    insert into ${SCHEMA}.entities
      (tenant_id, entity_id, entity_ref, entity_kind, entity_namespace, entity_name,
       final_entity, hash)
    select tenant_id, id, ref, split_part(ref, ':', 1),
           split_part(split_part(ref, ':', 2), '/', 1), split_part(ref, '/', 2),
           json::jsonb, ''
      from ${SCHEMA}.tenants,
           unnest($2::uuid[], $3::text[], $4::text[]) batch (id, ref, json)
     ${tenants}`;
}

function columnsOf(batch: Array<ReturnType<typeof createEntity>>): string[][] {
  return [
    batch.map(({ id }) => id),
    batch.map(({ ref }) => ref),
    batch.map(({ entity }) => JSON.stringify(entity)),
  ];
}
