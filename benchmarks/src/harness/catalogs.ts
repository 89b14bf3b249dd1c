import { resolvePackagePath } from '@backstage/backend-plugin-api';
import type { Entity } from '@backstage/catalog-model';
import { adopt, migrateTo } from 'backstage-catalog-tenancy-migrations';
import createKnex from 'knex';
import type { Client } from 'pg';
import { APP_LOGIN, PASSWORD, SCHEMA, SERVICE_SUBJECT, USER } from './backend';
import type { BenchmarkContext } from './Benchmark';
import {
  createDatabase,
  type Database,
  runStatements,
  vacuum,
  withClient,
} from './database';
import {
  createEntities,
  type CreateEntities,
  type GeneratedEntity,
} from './entities';
import { multiplyEntities } from './multiply';
import { givePartition } from './operator';

/** A catalog to be measured. */
export interface CatalogSize {
  entities: number;
  /** How many tenants there are, where our side is to be one among several. */
  tenants?: number;
  /** Whether that one shares a partition with the others, as small tenants do. */
  sharesPartition?: boolean;
  /** So many entities are made, and the others copied from them; all by default. */
  made?: number;
}

/** The tenant that is measured, where it is one among several. */
const MEASURED_TENANT = 'large';

/** How many entities each of the other tenants has. */
const ENTITIES_OF_OTHERS = 50;

const STOCK = '@backstage/plugin-catalog-backend';
const BATCH_SIZE = 500;

/** How a size is called in the report. */
export function describeSize({ entities, tenants }: CatalogSize): string {
  const count = entities.toLocaleString('en');
  return tenants ? `${count}, 1 of ${tenants} tenants` : count;
}

/** The slug of the tenant that is measured. */
export function tenantOf({ tenants }: CatalogSize): string {
  return tenants ? MEASURED_TENANT : 'default';
}

/**
 * A stock catalog and ours for each size, with the same entities. They share a database, except
 * where ours has several tenants: their tables are in schemas of their own.
 */
export class CatalogPairs {
  readonly #stocks = new Map<number, Database>();

  constructor(
    private readonly context: Pick<BenchmarkContext, 'postgres' | 'progress'>,
  ) {}

  async create(
    size: CatalogSize,
    create: CreateEntities = createEntities,
  ): Promise<{ stock: Database; ours: Database }> {
    const { entities, tenants } = size;
    const { postgres, progress } = this.context;
    const stock =
      this.#stocks.get(entities) ?? (await this.#createBoth(size, create));
    this.#stocks.set(entities, stock);
    if (!tenants) {
      return { stock, ours: stock };
    }
    progress(`${describeSize(size)}: creating the catalog of a tenant`);
    const name = `tenants_${entities}_${tenants}`;
    const ours = await createEmptyCatalog({ postgres, name });
    await adoptCatalog(ours);
    await addTenants(ours, size, create);
    await vacuum(ours);
    return { stock, ours };
  }

  async #createBoth(
    { entities, made = entities }: CatalogSize,
    create: CreateEntities,
  ): Promise<Database> {
    const { postgres, progress } = this.context;
    const name = `stock_${entities}`;
    const database = await createEmptyCatalog({ postgres, name });
    progress(`filling a stock catalog with ${made} entities`);
    await withClient(database, client =>
      inBatches(made, create, batch => fillStockTables(client, batch)),
    );
    progress('adopting it');
    await adoptCatalog(database);
    if (made < entities) {
      progress(`copying them until there are ${entities}`);
      await multiplyEntities(database, entities);
    }
    await vacuum(database);
    return database;
  }
}

/** Creates a database with the tables of the stock catalog, by its own migrations. */
export async function createEmptyCatalog({
  postgres,
  name,
}: Database): Promise<Database> {
  const database = await createDatabase(postgres, name);
  const connection = postgres.connectionString(name);
  const knex = createKnex({ client: 'pg', connection });
  try {
    const directory = resolvePackagePath(STOCK, 'migrations');
    await knex.migrate.latest({ directory });
  } finally {
    await knex.destroy();
  }
  return database;
}

/** Makes the entities of a stock catalog those of the default tenant, as an operator does. */
export async function adoptCatalog(database: Database): Promise<void> {
  const connection = database.postgres.connectionString(database.name);
  await adopt({ connection, schema: SCHEMA });
  await createTenantTables(database);
}

/** Creates the tables of tenants, or brings them up to phase 5. */
export async function createTenantTables(database: Database): Promise<void> {
  await migrateTo(5, {
    connection: database.postgres.connectionString(database.name),
    schema: SCHEMA,
    createTables: true,
    force: true,
  });
  await runStatements(database, [
    `alter role ${APP_LOGIN} password '${PASSWORD}'`,
  ]);
}

/** Creates a tenant whose members are the callers of the benchmarks, with entities. */
export async function createTenant(
  database: Database,
  options: { slug: string; entities: number; withPartition?: boolean },
  create: CreateEntities = createEntities,
): Promise<void> {
  const { slug, entities, withPartition = false } = options;
  await withClient(database, async client => {
    await client.query(
      `insert into ${SCHEMA}.tenants (tenant_slug, tenant_name) values ($1, $1)`,
      [slug],
    );
    await client.query(
      `insert into ${SCHEMA}.tenant_members (tenant_id, principal, role, created_by)
       select tenant_id, unnest($1::text[]), 'member', 'benchmark'
         from ${SCHEMA}.tenants
        where tenant_slug = $2`,
      [[USER, SERVICE_SUBJECT], slug],
    );
    if (withPartition) {
      // While it is empty: an operator's command would move its rows.
      await givePartition(database, slug);
    }
    await inBatches(entities, create, batch =>
      insertEntities(client, batch, slug),
    );
  });
}

async function addTenants(
  database: Database,
  { entities, tenants = 1, sharesPartition = false }: CatalogSize,
  create: CreateEntities,
): Promise<void> {
  await withClient(database, async client => {
    // Beside the default tenant and the measured one.
    await client.query(
      `insert into ${SCHEMA}.tenants (tenant_slug, tenant_name)
       select 'small-' || number, 'Small ' || number
         from generate_series(1, $1::int) number`,
      [tenants - 2],
    );
    await insertEntities(client, create(0, ENTITIES_OF_OTHERS), 'small-%');
  });
  await createTenant(
    database,
    { slug: MEASURED_TENANT, entities, withPartition: !sharesPartition },
    create,
  );
}

async function inBatches(
  entities: number,
  create: CreateEntities,
  insert: (batch: GeneratedEntity[]) => Promise<void>,
): Promise<void> {
  for (let first = 0; first < entities; first += BATCH_SIZE) {
    await insert(create(first, Math.min(BATCH_SIZE, entities - first)));
  }
}

/** Inserts the same entities into each tenant whose slug matches, as they are stored. */
async function insertEntities(
  client: Client,
  batch: GeneratedEntity[],
  slugs: string,
): Promise<void> {
  await client.query(
    `with batch as (
       select row ->> 'ref' as ref, row ->> 'hash' as hash, row -> 'entity' as entity,
              row ->> 'locationKey' as location_key, row -> 'relations' as relations
         from jsonb_array_elements($1::jsonb) row
     ),
     inserted as (
       insert into ${SCHEMA}.entities
         (tenant_id, entity_id, entity_ref, entity_kind, entity_namespace, entity_name,
          final_entity, hash)
       select tenant_id, (entity #>> '{metadata,uid}')::uuid, ref,
              split_part(ref, ':', 1), split_part(split_part(ref, ':', 2), '/', 1),
              split_part(ref, '/', 2), entity, hash
         from batch, ${SCHEMA}.tenants
        where tenant_slug like $2
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
    [JSON.stringify(batch), slugs],
  );
}

interface SearchRow {
  key: string;
  value: string | null;
  original_value: string | null;
}

// The stock package's own function, which it does not export.
const { buildEntitySearch } = require(resolvePackagePath(
  STOCK,
  'dist/database/operations/stitcher/buildEntitySearch.cjs.js',
)) as { buildEntitySearch(entityId: string, entity: Entity): SearchRow[] };

/**
 * Writes what the engine of the stock catalog would have written in the end. The engine itself
 * would take an hour for 50,000 entities.
 */
async function fillStockTables(
  client: Client,
  batch: GeneratedEntity[],
): Promise<void> {
  const entities = batch.map(({ id, ref, hash, entity, locationKey }) => {
    const json = JSON.stringify(entity);
    return { id, ref, hash, json, location: locationKey };
  });
  const relations = batch.flatMap(({ id, ref, relations: all }) =>
    all.map(({ type, targetRef }) => ({ id, ref, type, target: targetRef })),
  );
  const search = batch.flatMap(({ id, entity }) =>
    buildEntitySearch(id, entity).map(row => ({ id, ...row })),
  );
  await client.query(
    `with batch as (
       select * from jsonb_to_recordset($1::jsonb)
         as row (id text, ref text, hash text, json text, location text)
     ), states as (
       insert into refresh_state
         (entity_id, entity_ref, unprocessed_entity, unprocessed_hash, processed_entity,
          result_hash, errors, next_update_at, last_discovery_at, location_key)
       select id, ref, json, hash, json, hash, '[]', now() + interval '1 day', now(), location
         from batch
     ), refs as (
       insert into refresh_state_references (source_key, target_entity_ref)
       select 'benchmark', ref from batch
     )
     insert into final_entities (entity_id, entity_ref, hash, final_entity, last_updated_at)
     select id, ref, hash, json, now() from batch`,
    [JSON.stringify(entities)],
  );
  await client.query(
    `insert into relations
       (originating_entity_id, source_entity_ref, type, target_entity_ref)
     select * from jsonb_to_recordset($1::jsonb)
         as row (id text, ref text, type text, target text)`,
    [JSON.stringify(relations)],
  );
  await client.query(
    `insert into search (entity_id, key, value, original_value)
     select * from jsonb_to_recordset($1::jsonb)
         as row (id text, key text, value text, original_value text)`,
    [JSON.stringify(search)],
  );
}
