import type { Client } from 'pg';
import { TENANT_TABLES } from '../../schema/tables';
import type { TenantTable } from '../../schema/tables';

// Writers make each change twice in one transaction: in the tables of the catalog, and in tables
// of the same form that no migration touches. Whatever is committed, killed or rolled back, both
// must have the same rows at the end.

export type Database = Pick<Client, 'query'>;

/** The columns before the migration (see seed.ts), which it must keep. */
export const COLUMNS: Record<TenantTable, readonly string[]> = {
  entities: [
    ...['entity_id', 'entity_ref', 'entity_kind', 'entity_namespace'],
    ...['entity_name', 'final_entity', 'hash', 'stitch_ticket'],
    ...['created_at', 'updated_at', 'deleted_at'],
  ],
  relations: [
    ...['originating_entity_id', 'source_entity_ref', 'type'],
    ...['target_entity_ref', 'weight', 'noted_at'],
  ],
  refresh_state: [
    ...['entity_id', 'location_key', 'next_update_at', 'errors', 'attempts'],
  ],
};

/** The entities that all writers of an application write. */
export const SHARED_REFS = Array.from(
  { length: 8 },
  (_, index) => `shared:default/entity-${index}`,
);

/** Creates the shared entities, and a schema with copies of the tables. */
export async function createShadows(
  client: Database,
  schema: string,
  tenantId?: string,
): Promise<void> {
  const [column, value] = tenantId
    ? ['tenant_id, ', `'${tenantId}', `]
    : ['', ''];
  await client.query(
    `insert into entities (${column}entity_ref, entity_kind, entity_name, final_entity, hash, stitch_ticket)
     select ${value}ref, 'shared', split_part(ref, '/', 2), '{}', '', '0' from unnest($1::text[]) ref`,
    [SHARED_REFS],
  );
  await client.query(`create schema ${schema}`);
  for (const table of TENANT_TABLES) {
    await client.query(
      `create table ${schema}.${table} as
       select ${COLUMNS[table].join(', ')} from ${table}
        ${tenantId ? `where tenant_id = '${tenantId}'` : ''}`,
    );
  }
  await client.query(`
    alter table ${schema}.entities add primary key (entity_id), add unique (entity_ref);
    alter table ${schema}.relations
      add foreign key (originating_entity_id) references ${schema}.entities on delete cascade;
    create index on ${schema}.relations (originating_entity_id);
    alter table ${schema}.refresh_state
      add primary key (entity_id), alter column attempts set default 0,
      add foreign key (entity_id) references ${schema}.entities on delete cascade;
    grant usage on schema ${schema} to public;
    grant all on all tables in schema ${schema} to public`);
}

/** The columns have the names and types that they had, beside tenant_id. */
const COLUMN_DIFFERENCES = `
  with columns as (
    select attrelid, attname || ' ' || format_type(atttypid, atttypmod) as text
      from pg_attribute where attnum > 0 and not attisdropped and attname <> 'tenant_id'
       and attrelid in ($1::regclass, $2::regclass)
  )
  select case attrelid when $1::regclass then 'new column ' else 'no column ' end || text as text
    from columns c
   where (select count(*) from columns other where other.text = c.text) = 1
   order by 1`;

/**
 * What differs between the tables of the catalog and their copies, row by row and column by
 * column, as texts: 0.10 in a JSON value is not 0.1. The client must see every row: a superuser.
 */
export async function findDifferences(
  client: Database,
  schema: string,
  tenantId?: string,
): Promise<string[]> {
  const differences: string[] = [];
  for (const table of TENANT_TABLES) {
    const { rows: columns } = await client.query(COLUMN_DIFFERENCES, [
      table,
      `${schema}.${table}`,
    ]);
    if (columns.length > 0) {
      differences.push(...columns.map(({ text }) => `${table}: ${text}`));
      continue;
    }
    const row = `row(${COLUMNS[table]
      .map(column => `${column}::text`)
      .join(', ')})::text as text`;
    const found = `select ${row} from ${table} ${
      tenantId ? `where tenant_id = '${tenantId}'` : ''
    }`;
    const wanted = `select ${row} from ${schema}.${table}`;
    const { rows } = await client.query(
      `select 'missing ' || left(text, 400) as text from (${wanted} except all ${found}) missing
        union all
       select 'unexpected ' || left(text, 400) from (${found} except all ${wanted}) unexpected
        limit 50`,
    );
    differences.push(...rows.map(({ text }) => `${table}: ${text}`));
  }
  return differences;
}

/** Rows of other tenants than the writers'. */
export async function findRowsOfOthers(
  client: Database,
  tenantIds: string[],
): Promise<string[]> {
  const { rows } = await client.query(
    TENANT_TABLES.map(
      table =>
        `select '${table}: ' || count(*) || ' rows of tenant ' || coalesce(tenant_id::text, 'null') as text
           from ${table} where tenant_id is null or tenant_id <> all ($1::uuid[]) group by tenant_id`,
    ).join(' union all '),
    [tenantIds],
  );
  return rows.map(({ text }) => text);
}
