import { resolvePackagePath } from '@backstage/backend-plugin-api';
import type { Entity } from '@backstage/catalog-model';
import { adopt, migrateTo } from 'backstage-catalog-tenancy-migrations';
import type { Knex } from 'knex';
import { type Database, runStatements } from './database';
import {
  createEntities,
  type CreateEntities,
  type GeneratedEntity,
} from './entities';
import { APP_LOGIN, PASSWORD, SCHEMA } from './servers';

const STOCK = '@backstage/plugin-catalog-backend';
const BATCH_SIZE = 500;

interface SearchRow {
  key: string;
  value: string | null;
  original_value: string | null;
}

// The stock package's own function, which it does not export.
const { buildEntitySearch } = require(resolvePackagePath(
  STOCK,
  'dist/database/operations/stitcher/buildEntitySearch.cjs.js',
)) as {
  buildEntitySearch(entityId: string, entity: Entity): SearchRow[];
};

/** Creates the tables of the stock catalog, by its own migrations. */
export async function createStockTables(knex: Knex): Promise<void> {
  await knex.migrate.latest({
    directory: resolvePackagePath(STOCK, 'migrations'),
  });
}

/**
 * Fills the tables of the stock catalog with what its engine would have written
 * there in the end. The engine itself would take an hour for as many.
 */
export async function fillStockTables(
  knex: Knex,
  entities: number,
  create: CreateEntities = createEntities,
): Promise<void> {
  for (let first = 0; first < entities; first += BATCH_SIZE) {
    const length = Math.min(BATCH_SIZE, entities - first);
    const batch = create(first, length);
    await knex.transaction(async transaction => {
      await insertEntities(transaction, batch);
      await insertRelations(transaction, batch);
      await insertSearch(transaction, batch);
    });
  }
}

async function insertEntities(
  knex: Knex,
  batch: GeneratedEntity[],
): Promise<void> {
  const json = batch.map(({ entity }) => JSON.stringify(entity));
  const ids = batch.map(({ id }) => id);
  const refs = batch.map(({ ref }) => ref);
  const hashes = batch.map(({ hash }) => hash);
  await knex.raw(
    `insert into refresh_state
       (entity_id, entity_ref, unprocessed_entity, unprocessed_hash, processed_entity,
        result_hash, errors, next_update_at, last_discovery_at, location_key)
     select id, ref, json, hash, json, hash, '[]', now() + interval '1 day', now(), location
       from unnest(?::text[], ?::text[], ?::text[], ?::text[], ?::text[])
         as batch (id, ref, json, hash, location)`,
    [ids, refs, json, hashes, batch.map(({ locationKey }) => locationKey)],
  );
  await knex.raw(
    `insert into refresh_state_references (source_key, target_entity_ref)
     select 'benchmark', ref from unnest(?::text[]) as batch (ref)`,
    [refs],
  );
  await knex.raw(
    `insert into final_entities (entity_id, entity_ref, hash, final_entity, last_updated_at)
     select id, ref, hash, json, now()
       from unnest(?::text[], ?::text[], ?::text[], ?::text[])
         as batch (id, ref, hash, json)`,
    [ids, refs, hashes, json],
  );
}

async function insertRelations(
  knex: Knex,
  batch: GeneratedEntity[],
): Promise<void> {
  const rows = batch.flatMap(({ id, ref, relations }) =>
    relations.map(({ type, targetRef }) => [id, ref, type, targetRef]),
  );
  await knex.raw(
    `insert into relations
       (originating_entity_id, source_entity_ref, type, target_entity_ref)
     select * from unnest(?::text[], ?::text[], ?::text[], ?::text[])`,
    columns(rows, 4),
  );
}

async function insertSearch(
  knex: Knex,
  batch: GeneratedEntity[],
): Promise<void> {
  const rows = batch.flatMap(({ id, entity }) =>
    buildEntitySearch(id, entity).map(row => [
      id,
      row.key,
      row.value,
      row.original_value,
    ]),
  );
  await knex.raw(
    `insert into search (entity_id, key, value, original_value)
     select * from unnest(?::text[], ?::text[], ?::text[], ?::text[])`,
    columns(rows, 4),
  );
}

/** The columns of some rows, as parameters that are arrays. */
function columns(rows: (string | null)[][], count: number): Knex.RawBinding[] {
  return Array.from({ length: count }, (_, index) =>
    rows.map(row => row[index]),
  ) as Knex.RawBinding[];
}

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
