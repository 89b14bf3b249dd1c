import type { Postgres } from '@internal/postgres';
import { PASSWORD, SCHEMA } from '../harness/backend';
import {
  createDatabase,
  type Database,
  runStatements,
  withClient,
} from '../harness/database';
import { createSingleTenantTables } from '../harness/operator';
import {
  COPY_COLUMNS,
  copyStatement,
  createPatterns,
} from '../harness/patterns';

/** As whom the application of before the migration connects. */
export const OLD_LOGIN = 'catalog_app';

/** How much there is, and how long it is watched. */
export interface Size {
  /** How many different entities there are, and how many copies of them. */
  patterns: number;
  copies: number;
  /** How long the writers are watched before anything is done. */
  baselineSeconds: number;
  /** How often the tables are swapped back and forth after phase 5. */
  swaps: number;
}

export const FULL: Size = {
  patterns: 1_000,
  copies: 1_000,
  baselineSeconds: 60,
  swaps: 6,
};

export const SHORT: Size = {
  patterns: 100,
  copies: 10,
  baselineSeconds: 0.5,
  swaps: 1,
};

/** Creates a single-tenant catalog as it is before phase 1. */
export async function createCatalog(
  postgres: Postgres,
  { patterns, copies }: Size,
): Promise<Database> {
  const catalog = await createDatabase(postgres, 'catalog');
  await createSingleTenantTables(catalog);
  await withClient(catalog, async client => {
    await createPatterns(client, patterns);
    await client.query(`set search_path = ${SCHEMA}`);
    for (let copy = 0; copy < copies; copy += 1) {
      await client.query(
        `with inserted as (
           insert into entities (${COPY_COLUMNS}) ${copyStatement(
          '$1',
          '$2::int',
        )}
           returning entity_id, entity_ref, final_entity
         ), related as (
           insert into relations
             (originating_entity_id, source_entity_ref, type, target_entity_ref)
           select entity_id, entity_ref, relation ->> 'type', relation ->> 'targetRef'
             from inserted, jsonb_array_elements(final_entity -> 'relations') relation
         )
         insert into refresh_state (entity_id, location_key, next_update_at, last_discovery_at)
         select entity_id,
                final_entity #>> '{metadata,annotations,backstage.io/managed-by-location}',
                now(), now()
           from inserted`,
        [String(copy), copy],
      );
    }
  });
  await runStatements(catalog, [
    'drop schema source cascade',
    `vacuum (analyze) ${SCHEMA}.entities, ${SCHEMA}.relations, ${SCHEMA}.refresh_state`,
    `create role ${OLD_LOGIN} login password '${PASSWORD}'`,
    `grant usage on schema ${SCHEMA} to ${OLD_LOGIN}`,
    `grant select, insert, update, delete on all tables in schema ${SCHEMA} to ${OLD_LOGIN}`,
  ]);
  return catalog;
}

/** A line about what there is to move. */
export async function describeCatalog(database: Database): Promise<string> {
  return withClient(database, async client => {
    const { rows } = await client.query(
      `select (select count(*)::int from ${SCHEMA}.entities) as entities,
              (select count(*)::int from ${SCHEMA}.relations) as relations,
              (select count(*)::int from ${SCHEMA}.refresh_state) as states,
              pg_size_pretty(pg_database_size(current_database())) as size`,
    );
    const [{ entities, relations, states, size }] = rows;
    return (
      `${entities} entities, ${relations} relations, ${states} rows of ` +
      `refresh_state: ${size} with indexes`
    );
  });
}
