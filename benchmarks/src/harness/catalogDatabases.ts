import type { Knex } from 'knex';
import type { BenchmarkContext } from './Benchmark';
import { adoptCatalog, createStockTables, fillStockTables } from './catalogs';
import { type Database, runStatements, vacuum, withKnex } from './database';
import { givePartition } from './engine';
import {
  createEntities,
  type CreateEntities,
  type GeneratedEntity,
} from './entities';
import { operate } from './migrations';
import { SCHEMA, SERVICE_SUBJECT, USER } from './servers';

/** A catalog to be measured. */
export interface CatalogSize {
  entities: number;
  /** How many tenants there are, where our side is to be one among several. */
  tenants?: number;
  /** Whether that one shares a partition with the others, as small tenants do. */
  sharesPartition?: boolean;
}

/** The tenant that is measured, where it is one among several. */
const MEASURED_TENANT = 'large';

/** How many entities each of the other tenants has. */
const ENTITIES_OF_OTHERS = 50;

const BATCH_SIZE = 500;

// Nobody uses the tables while they are filled.
const LONGEST_MOVE_MS = 600_000;

/** How a size is called in the report. */
export function describeSize({ entities, tenants }: CatalogSize): string {
  const count = entities.toLocaleString('en');
  return tenants ? `${count}, 1 of ${tenants} tenants` : count;
}

/** The slug of the tenant that is measured. */
export function tenantOf({ tenants }: CatalogSize): string {
  return tenants ? MEASURED_TENANT : 'default';
}

/** A database with the tables of the stock catalog, filled. */
export async function createStockCatalog(
  { postgres, progress }: Pick<BenchmarkContext, 'postgres' | 'progress'>,
  { entities }: CatalogSize,
  create: CreateEntities = createEntities,
): Promise<Database> {
  progress(`filling a stock catalog with ${entities} entities`);
  const database = await createDatabase({
    postgres,
    name: `stock_${entities}`,
  });
  await withKnex(postgres, database.name, async knex => {
    await createStockTables(knex);
    await fillStockTables(knex, entities, create);
  });
  await vacuum(database);
  return database;
}

/** A catalog of ours with the same entities, in the tenant that is asked for. */
export async function createOurCatalog(
  { postgres, progress }: Pick<BenchmarkContext, 'postgres' | 'progress'>,
  stock: Database,
  size: CatalogSize,
  create: CreateEntities = createEntities,
): Promise<Database> {
  const { entities, tenants } = size;
  progress(`${describeSize(size)}: making them entities of a tenant`);
  const name = `tenants_${entities}_${tenants ?? 1}`;
  let database: Database;
  if (tenants) {
    database = await createDatabase({ postgres, name });
    await withKnex(postgres, name, createStockTables);
    await adoptCatalog(database);
    await addTenants(database, size, create);
  } else {
    database = await createDatabase({ postgres, name }, stock);
    await adoptCatalog(database);
  }
  await vacuum(database);
  return database;
}

async function createDatabase(
  database: Database,
  template?: Database,
): Promise<Database> {
  await runStatements({ ...database, name: 'postgres' }, [
    `create database ${database.name}${
      template ? ` template ${template.name}` : ''
    }`,
  ]);
  return database;
}

/**
 * Adds tenants with entities, one of them with as many as are measured. They are
 * written as they are stored: to apply them as mutations would take long.
 */
async function addTenants(
  database: Database,
  { entities, tenants = 1, sharesPartition = false }: CatalogSize,
  create: CreateEntities,
): Promise<void> {
  await withKnex(database.postgres, database.name, async knex => {
    // Beside the default one, which is there already.
    await knex.raw(
      `insert into ${SCHEMA}.tenants (tenant_slug, tenant_name)
       select 'small-' || number, 'Small ' || number
         from generate_series(1, ?::int) number`,
      [tenants - 2],
    );
    await insertEntities(knex, create(0, ENTITIES_OF_OTHERS));
    await knex.raw(
      `insert into ${SCHEMA}.tenants (tenant_slug, tenant_name) values (?, 'Large')`,
      [MEASURED_TENANT],
    );
    await knex.raw(
      `insert into ${SCHEMA}.tenant_members (tenant_id, principal, role, created_by)
       select tenant_id, unnest(?::text[]), 'member', 'benchmark'
         from ${SCHEMA}.tenants
        where tenant_slug = ?`,
      [[USER, SERVICE_SUBJECT], MEASURED_TENANT],
    );
    for (let first = 0; first < entities; first += BATCH_SIZE) {
      const length = Math.min(BATCH_SIZE, entities - first);
      await insertEntities(knex, create(first, length), MEASURED_TENANT);
    }
  });
  if (sharesPartition) {
    return;
  }
  // As an operator does once a tenant has grown.
  await operate(database, ({ context }) =>
    givePartition(context, MEASURED_TENANT, { maxBlockMs: LONGEST_MOVE_MS }),
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
