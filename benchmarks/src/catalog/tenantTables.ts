import { adopt, migrateTo } from 'backstage-catalog-tenancy-migrations';
import type { Knex } from 'knex';
import { withKnex } from '../harness/database';
import { type Database, runStatements } from '../migration/database';
import { givePartition } from '../migration/engine';
import { operate } from '../migration/operator';
import { APP_LOGIN, LARGE_TENANT, PASSWORD, SCHEMA } from './constants';
import { createEntities, type GeneratedEntity } from './entities';
import { ENTITIES_OF_OTHERS, type Size } from './sizes';

const BATCH_SIZE = 500;

// Nobody uses the tables while they are filled.
const LONGEST_MOVE_MS = 600_000;

/**
 * Makes the entities of a stock catalog those of the default tenant, as an operator
 * does.
 */
export async function adoptCatalog(database: Database): Promise<void> {
  const { postgres, name } = database;
  const options = {
    connection: postgres.connectionString(name),
    schema: SCHEMA,
  };
  await adopt(options);
  // Without the tables of before, whose upkeep would cost our side.
  await migrateTo(5, { ...options, keepOldTables: false, force: true });
  await runStatements(database, [
    `alter role ${APP_LOGIN} password '${PASSWORD}'`,
  ]);
}

/** Creates a database with the tables of tenants alone, and no catalog before them. */
export async function createTenantDatabase(
  database: Database,
): Promise<Database> {
  const { postgres, name } = database;
  await runStatements({ postgres, name: 'postgres' }, [
    `create database ${name}`,
  ]);
  await migrateTo(5, {
    connection: postgres.connectionString(name),
    schema: SCHEMA,
    createTables: true,
    keepOldTables: false,
    force: true,
  });
  await runStatements(database, [
    `alter role ${APP_LOGIN} password '${PASSWORD}'`,
  ]);
  return database;
}

/**
 * Adds tenants with entities, one of them with as many as are measured. They are
 * written as they are stored: to apply them as mutations would take long.
 */
export async function addTenants(
  database: Database,
  { entities, tenants = 1 }: Size,
): Promise<void> {
  await withKnex(database.postgres, database.name, async knex => {
    // Beside the default one, which is there already.
    await knex.raw(
      `insert into ${SCHEMA}.tenants (tenant_slug, tenant_name)
       select 'small-' || number, 'Small ' || number
         from generate_series(1, ?::int) number`,
      [tenants - 2],
    );
    await insertEntities(knex, createEntities(0, ENTITIES_OF_OTHERS));
    await knex.raw(
      `insert into ${SCHEMA}.tenants (tenant_slug, tenant_name) values (?, 'Large')`,
      [LARGE_TENANT],
    );
    for (let first = 0; first < entities; first += BATCH_SIZE) {
      const length = Math.min(BATCH_SIZE, entities - first);
      await insertEntities(knex, createEntities(first, length), LARGE_TENANT);
    }
  });
  // As an operator does once a tenant has grown.
  await operate(database, ({ context }) =>
    givePartition(context, LARGE_TENANT, { maxBlockMs: LONGEST_MOVE_MS }),
  );
}

/** Inserts the same entities into one tenant, or into each that is not the default one. */
async function insertEntities(
  knex: Knex,
  batch: GeneratedEntity[],
  slug?: string,
): Promise<void> {
  const rows = batch.map(({ ref, hash, entity, locationKey, relations }) => ({
    ...{ ref, hash, entity, locationKey, relations },
  }));
  await knex.raw(
    `with batch as (
       select row ->> 'ref' as ref, row ->> 'hash' as hash, row -> 'entity' as entity,
              row ->> 'locationKey' as location_key, row -> 'relations' as relations
         from jsonb_array_elements(?::jsonb) row
     ),
     inserted as (
       insert into ${SCHEMA}.entities
         (tenant_id, entity_id, entity_ref, entity_kind, entity_namespace, entity_name,
          final_entity, hash)
       select tenant_id, (entity #>> '{metadata,uid}')::uuid, ref,
              split_part(ref, ':', 1), split_part(split_part(ref, ':', 2), '/', 1),
              split_part(ref, '/', 2), entity, hash
         from batch, ${SCHEMA}.tenants
        where case when ?::text is null then tenant_slug <> 'default'
                   else tenant_slug = ? end
       returning tenant_id, entity_id, entity_ref
     ),
     related as (
       insert into ${SCHEMA}.relations
         (tenant_id, originating_entity_id, source_entity_ref, type, target_entity_ref)
       select tenant_id, entity_id, ref, relation ->> 'type', relation ->> 'targetRef'
         from inserted join batch on ref = entity_ref,
              jsonb_array_elements(relations) relation
     )
     insert into ${SCHEMA}.refresh_state (tenant_id, entity_id, location_key)
     select tenant_id, entity_id, location_key
       from inserted join batch on ref = entity_ref`,
    [JSON.stringify(rows), slug ?? null, slug ?? null],
  );
}
