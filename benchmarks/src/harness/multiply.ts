import type { Client } from 'pg';
import { SCHEMA } from './backend';
import { type Database, withClient } from './database';

/** The tables of entities, and the column that says of which one a row is. */
const TABLES: [table: string, column: string, original: 'id' | 'ref'][] = [
  ['public.refresh_state', 'entity_id', 'id'],
  ['public.refresh_state_references', 'target_entity_ref', 'ref'],
  ['public.final_entities', 'entity_id', 'id'],
  ['public.relations', 'originating_entity_id', 'id'],
  ['public.search', 'entity_id', 'id'],
  [`${SCHEMA}.entities_tenant_default`, 'entity_id', 'id'],
  [`${SCHEMA}.refresh_state_tenant_default`, 'entity_id', 'id'],
  [`${SCHEMA}.relations_tenant_default`, 'originating_entity_id', 'id'],
  [`${SCHEMA}.entity_terms`, 'entity_id', 'id'],
];

/** They name no entity, or count the rows. */
const COPIED_AS_THEY_ARE = ['tenant_id', 'key'];
const COUNTED = ['id'];

/**
 * Copies the entities of the default tenant, in the stock catalog's tables and in ours, until there
 * are as many: with another name and id, wherever a row has these. An engine, or the adoption,
 * would take hours for hundreds of thousands.
 */
export async function multiplyEntities(
  database: Database,
  entities: number,
): Promise<void> {
  await withClient(database, async client => {
    await client.query(`set maintenance_work_mem = '1GB'`);
    await client.query(`set work_mem = '256MB'`);
    await client.query(
      `create temp table copies as
       select id, ref, name, md5(id || copy)::uuid::text as copy_id, name || '-' || copy as copy_name
         from (select entity_id::text as id, entity_ref as ref, entity_name as name,
                      row_number() over (order by entity_id) as number, count(*) over () as count
                 from ${SCHEMA}.entities) originals,
              generate_series(1, ${entities} / count) copy
        where copy * count + number <= ${entities}`,
    );
    await client.query('analyze copies');
    for (const [table, column, original] of TABLES) {
      await multiplyRows(client, table, `${column}::text = copies.${original}`);
    }
  });
}

/**
 * Without triggers and foreign keys, because the other side's rows are copied as well, and without
 * indexes, which are made again at the end: adding to them takes several times as long.
 */
async function multiplyRows(
  client: Client,
  table: string,
  isOriginal: string,
): Promise<void> {
  await client.query(
    `with off as (update pg_index set indisready = false where indrelid = '${table}'::regclass)
     update pg_class set relhastriggers = false where oid = '${table}'::regclass`,
  );
  const { rows: columns } = await client.query<{ name: string; type: string }>(
    `select attname as name, format_type(atttypid, null) as type
       from pg_attribute
      where attrelid = '${table}'::regclass and attnum > 0 and not attisdropped
        and attname <> all ($1)`,
    [COUNTED],
  );
  await client.query(
    `insert into ${table} (${columns.map(({ name }) => name)})
     select ${columns.map(
       copied,
     )} from copies join ${table} original on original.${isOriginal}`,
  );
  await client.query(
    `update pg_class set relhastriggers = true where oid = '${table}'::regclass`,
  );
  await client.query(`reindex table ${table}`);
}

function copied({ name, type }: { name: string; type: string }): string {
  return COPIED_AS_THEY_ARE.includes(name) || type.startsWith('timestamp')
    ? `original.${name}`
    : `replace(replace(original.${name}::text, name, copy_name), copies.id, copy_id)::${type}`;
}
