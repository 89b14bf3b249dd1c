import type { Postgres } from '@internal/postgres';
import { type Database, runStatements, withClient } from '../harness/database';
import { createCatalogTables } from '../harness/engine';
import { operate } from '../harness/migrations';
import { PASSWORD, SCHEMA } from '../harness/servers';

/** As whom the application of before the migration connects. */
export const OLD_LOGIN = 'catalog_app';

/** Creates a single-tenant catalog as it is before phase 1. */
export async function createCatalog(
  postgres: Postgres,
  name: string,
  size: Size,
): Promise<Database> {
  const catalog = { postgres, name };
  await runStatements({ postgres, name: 'postgres' }, [
    `create database ${name}`,
    `create role ${OLD_LOGIN} login password '${PASSWORD}'`,
  ]);
  await operate(catalog, migration => createCatalogTables(migration.context));
  await runStatements(catalog, [
    `set search_path = ${SCHEMA}`,
    ...fillStatements(size),
    `grant usage on schema ${SCHEMA} to ${OLD_LOGIN}`,
    `grant select, insert, update, delete on all tables in schema ${SCHEMA} to ${OLD_LOGIN}`,
  ]);
  return catalog;
}

/** What there is to move: rows, and the bytes of tables and indexes. */
export async function describeCatalog(database: Database): Promise<string> {
  return withClient(database, async client => {
    const { rows } = await client.query(
      `select to_char((select count(*) from ${SCHEMA}.entities), 'FM999,999,999') as entities,
              to_char((select count(*) from ${SCHEMA}.relations), 'FM999,999,999') as relations,
              to_char((select count(*) from ${SCHEMA}.refresh_state), 'FM999,999,999') as states,
              (select round(avg(length(final_entity::text))) from ${SCHEMA}.entities tablesample system (10)) as bytes,
              pg_size_pretty(pg_database_size(current_database())) as size`,
    );
    const [{ entities, relations, states, bytes, size }] = rows;
    return (
      `${entities} entities of ${bytes} characters of JSON on average, ${relations} relations, ` +
      `${states} rows of refresh_state: ${size} with indexes`
    );
  });
}

/** How much there is, and how long it is watched. */
export interface Size {
  entities: number;
  relationsPerEntity: number;
  /** Those of the catalog whose entity_terms is filled. */
  searchedEntities: number;
  /** For how long the writers are watched before anything is done. */
  baselineSeconds: number;
  /** How often the tables are swapped back and forth after phase 5. */
  swaps: number;
}

export const FULL: Size = {
  entities: 1_000_000,
  relationsPerEntity: 3,
  searchedEntities: 50_000,
  baselineSeconds: 60,
  swaps: 6,
};

export const SHORT: Size = {
  entities: 1_000,
  relationsPerEntity: 3,
  searchedEntities: 1_000,
  baselineSeconds: 0.5,
  swaps: 1,
};

/** All rows of the three tables: each entity has one of refresh_state. */
export function rowsOf({ entities, relationsPerEntity }: Size): number {
  return entities * (2 + relationsPerEntity);
}

// Everything is made by the server out of numbers, so that a run neither needs
// memory here nor differs from the one before.

const WORDS =
  'account address archive basket billing booking branch catalog channel checkout ' +
  'claim contract courier customer delivery discount document event export factory ' +
  'gateway identity import inventory invoice ledger loyalty mailing market message ' +
  'notice offer order partner payment portal price product profile quote refund ' +
  'report return review search session stock supplier survey ticket transfer voucher';

const WORD_LIST = `string_to_array('${WORDS}', ' ')`;

/** Some word, which depends on a number; `salt` tells several of a row apart. */
function word(number: string, salt: number): string {
  return `words[1 + (${number} * 7919 + ${salt} * 104729) % cardinality(words)]`;
}

// Of 20 entities, as catalogs have them.
const KINDS =
  "(array_fill('component'::text, '{12}') || array_fill('api'::text, '{3}') || " +
  "array_fill('resource'::text, '{2}') || array['system', 'group', 'user'])";

const NAMESPACES = `(array['default', 'default', 'default', 'payments', 'logistics'])`;

// 1 to 2 kB as text, depending on the length of the description and on the number
// of links and dependencies.
const FINAL_ENTITY = `jsonb_build_object(
  'apiVersion', 'backstage.io/v1alpha1',
  'kind', initcap(kind),
  'metadata', jsonb_build_object(
    'uid', md5(n::text), 'etag', md5('etag' || n), 'name', name, 'namespace', namespace,
    'title', initcap(replace(name, '-', ' ')),
    'description', (
      select string_agg(${word('(n + i * i)', 5)}, ' ')
        from generate_series(1, 20 + n % 60) i),
    'labels', jsonb_build_object(
      'team', ${word('n', 3)}, 'tier', n % 4, 'region', 'eu-' || n % 6),
    'annotations', jsonb_build_object(
      'backstage.io/managed-by-location', location,
      'backstage.io/managed-by-origin-location', location,
      'backstage.io/view-url', 'https://git.example.com/' || namespace || '/' || name,
      'backstage.io/edit-url', 'https://git.example.com/' || namespace || '/' || name || '/edit',
      'example.com/build', md5('build' || n), 'example.com/pager', 'P' || n % 9973),
    'tags', to_jsonb(array[${word('n', 7)}, ${word('n', 11)}, 'java']),
    'links', (
      select coalesce(jsonb_agg(jsonb_build_object(
               'url', 'https://wiki.example.com/' || name || '/' || i, 'title', ${word(
                 '(n + i)',
                 13,
               )})), '[]')
        from generate_series(1, n % 4) i)),
  'spec', jsonb_build_object(
    'type', (array['service', 'website', 'library'])[1 + n % 3],
    'lifecycle', (array['production', 'experimental'])[1 + n % 2],
    'owner', 'group:default/' || ${word('n', 3)},
    'system', ${word('n', 17)},
    'dependsOn', (
      select coalesce(jsonb_agg('component:default/' || ${word(
        '(n + i)',
        19,
      )} || '-' || (n + i)), '[]')
        from generate_series(1, n % 7) i)))`;

/** The statements that fill the tables of a single-tenant catalog. */
export function fillStatements({
  entities,
  relationsPerEntity,
}: Pick<Size, 'entities' | 'relationsPerEntity'>): string[] {
  return [
    `insert into entities (entity_ref, entity_kind, entity_namespace, entity_name,
                           final_entity, hash, created_at, updated_at, deleted_at)
     select kind || ':' || namespace || '/' || name, kind, namespace, name,
            ${FINAL_ENTITY}, md5('hash' || n),
            timestamptz '2025-01-01' + n * interval '7 seconds',
            timestamptz '2025-06-01' + n * interval '7 seconds',
            case when n % 20 = 0 then timestamptz '2025-07-01' end
       from (select n, words, kind, namespace, name,
                    'url:https://git.example.com/' || namespace || '/' || name
                      || '/blob/main/catalog-info.yaml' as location
               from generate_series(1, ${entities}::bigint) n
              cross join (select ${WORD_LIST} as words) w
              cross join lateral (
                select ${KINDS}[1 + n % 20] as kind, ${NAMESPACES}[1 + n % 5] as namespace,
                       ${word('n', 1)} || '-' || ${word(
      'n',
      2,
    )} || '-' || n as name) names
            ) entity`,
    `insert into relations (originating_entity_id, source_entity_ref, type, target_entity_ref)
     select entity_id, entity_ref, (array['ownedBy', 'partOf', 'dependsOn'])[1 + i % 3],
            (array['group', 'system', 'component'])[1 + i % 3] || ':default/'
              || split_part(entity_name, '-', 1 + i % 2) || '-' || i
       from entities, generate_series(0, ${relationsPerEntity} - 1) i`,
    `insert into refresh_state (entity_id, location_key, next_update_at, last_discovery_at)
     select entity_id, final_entity #>> '{metadata,annotations,backstage.io/managed-by-location}',
            updated_at, updated_at
       from entities`,
    'vacuum (analyze) entities, relations, refresh_state',
  ];
}
