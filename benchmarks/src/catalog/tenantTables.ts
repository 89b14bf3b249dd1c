import { migrateTo } from 'backstage-catalog-tenancy-migrations';
import type { Knex } from 'knex';
import { withKnex } from '../harness/database';
import type { Database } from '../migration/database';
import { DEFAULT_TENANT_ID } from '../migration/engine';
import { APP_LOGIN, LARGE_TENANT, PASSWORD, SCHEMA } from './constants';
import { createEntity } from './entities';
import { ENTITIES_OF_OTHERS, type Size } from './sizes';

const LARGE_TENANT_ID = '11111111-1111-4111-8111-111111111111';

/**
 * Adds the tables of tenants to a database that has a stock catalog, with the
 * catalog's entities in the default tenant; or, among several tenants, in one that
 * is not the default one.
 */
export async function addTenantTables(
  { postgres, name }: Database,
  { entities, tenants }: Size,
): Promise<void> {
  await migrateTo(5, {
    connection: postgres.connectionString(name),
    schema: SCHEMA,
    createTables: true,
    keepOldTables: false,
    force: true,
  });
  await withKnex(postgres, name, async knex => {
    await knex.raw(`alter role ?? password '${PASSWORD}'`, [APP_LOGIN]);
    if (tenants) {
      await createTenants(knex, tenants);
      await copyEntities(knex, LARGE_TENANT_ID);
      await fillOthers(knex, entities);
    } else {
      await copyEntities(knex, DEFAULT_TENANT_ID);
    }
  });
}

async function createTenants(knex: Knex, tenants: number): Promise<void> {
  await knex.raw(
    `insert into ${SCHEMA}.tenants (tenant_id, tenant_slug, tenant_name)
     values (?, ?, 'Large')`,
    [LARGE_TENANT_ID, LARGE_TENANT],
  );
  // Beside the large one and the default one, which is there already.
  await knex.raw(
    `insert into ${SCHEMA}.tenants (tenant_slug, tenant_name)
     select 'small-' || number, 'Small ' || number from generate_series(1, ?::int) number`,
    [tenants - 2],
  );
}

/** What the stock catalog has, for a tenant. */
async function copyEntities(knex: Knex, tenantId: string): Promise<void> {
  await knex.raw(
    `insert into ${SCHEMA}.entities
       (tenant_id, entity_id, entity_ref, entity_kind, entity_namespace, entity_name,
        final_entity, hash, created_at, updated_at)
     select ?, entity_id::uuid, entity_ref, split_part(entity_ref, ':', 1),
            split_part(split_part(entity_ref, ':', 2), '/', 1),
            split_part(entity_ref, '/', 2),
            final_entity::jsonb, hash, last_updated_at, last_updated_at
       from final_entities order by entity_ref`,
    [tenantId],
  );
  await knex.raw(
    `insert into ${SCHEMA}.relations
       (tenant_id, originating_entity_id, source_entity_ref, type, target_entity_ref)
     select ?, originating_entity_id::uuid, source_entity_ref, type, target_entity_ref
       from relations`,
    [tenantId],
  );
}

/** The same few entities for each of the other tenants. */
async function fillOthers(knex: Knex, entities: number): Promise<void> {
  const count = Math.min(ENTITIES_OF_OTHERS, entities);
  const batch = Array.from({ length: count }, (_, number) =>
    createEntity(number),
  );
  await knex.raw(
    `insert into ${SCHEMA}.entities
       (tenant_id, entity_id, entity_ref, entity_kind, entity_namespace, entity_name,
        final_entity, hash)
     select tenant_id, gen_random_uuid(), ref, split_part(ref, ':', 1),
            split_part(split_part(ref, ':', 2), '/', 1), split_part(ref, '/', 2), json::jsonb, hash
       from ${SCHEMA}.tenants,
            unnest(?::text[], ?::text[], ?::text[]) as batch (ref, hash, json)
      where tenant_slug <> ?`,
    [
      batch.map(({ ref }) => ref),
      batch.map(({ hash }) => hash),
      batch.map(({ entity }) => JSON.stringify(entity)),
      LARGE_TENANT,
    ],
  );
}
