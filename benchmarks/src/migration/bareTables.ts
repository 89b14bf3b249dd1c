import { type Database, runStatements, withClient } from './database';
import {
  catchAllPartition,
  DEFAULT_TENANT_ID,
  defaultTenantPartition,
  partitionedName,
  TENANT_TABLES,
} from './engine';
import { SCHEMA } from './operator';

const BARE = 'bare';

/**
 * Creates partitioned tables like those that phase 5 has built, with all their
 * columns, indexes, constraints and foreign keys, and without a row.
 */
export async function createBareTables(database: Database): Promise<void> {
  await runStatements(database, [
    `create schema ${BARE}`,
    ...TENANT_TABLES.flatMap(table => [
      `create table ${BARE}.${table} (
         like ${SCHEMA}.${partitionedName(table)} including all
       ) partition by list (tenant_id)`,
      `create table ${BARE}.${defaultTenantPartition(table)}
         partition of ${BARE}.${table} for values in ('${DEFAULT_TENANT_ID}')`,
      `create table ${BARE}.${catchAllPartition(table)}
         partition of ${BARE}.${table} default`,
    ]),
    ...(await readForeignKeys(database)),
  ]);
  await assertAlike(database);
}

/** One INSERT … SELECT per table. */
export async function insertIntoBare(database: Database): Promise<void> {
  await runStatements(
    database,
    TENANT_TABLES.map(
      table => `insert into ${BARE}.${table} select * from ${SCHEMA}.${table}`,
    ),
  );
}

export async function emptyBareTables(database: Database): Promise<void> {
  const names = TENANT_TABLES.map(table => `${BARE}.${table}`);
  await runStatements(database, [`truncate ${names.join(', ')}`]);
}

/** The statements for the foreign keys, which LIKE leaves out. */
async function readForeignKeys(database: Database): Promise<string[]> {
  return withClient(database, async client => {
    const { rows } = await client.query<{ table: string; definition: string }>(
      `select conrelid::regclass::text as table, pg_get_constraintdef(oid) as definition
         from pg_constraint
        where contype = 'f' and conparentid = 0
          and conrelid = any (array[${TENANT_TABLES.map(
            table => `'${SCHEMA}.${partitionedName(table)}'::regclass`,
          ).join(', ')}])`,
    );
    return rows.map(({ table, definition }) =>
      `alter table ${table} add ${definition}`
        .split(`${SCHEMA}.entities_partitioned`)
        .join(`${BARE}.entities`)
        .replace(
          new RegExp(`${SCHEMA}\\.(\\w+)_partitioned add`),
          `${BARE}.$1 add`,
        ),
    );
  });
}

/** Both sides have as many indexes and constraints, or the ratio means nothing. */
async function assertAlike(database: Database): Promise<void> {
  await withClient(database, async client => {
    for (const table of TENANT_TABLES) {
      const { rows } = await client.query<{ ours: string; bare: string }>(
        `select ${describe(`${SCHEMA}.${partitionedName(table)}`)} as ours,
                ${describe(`${BARE}.${table}`)} as bare`,
      );
      const [{ ours, bare }] = rows;
      if (ours !== bare) {
        throw new Error(
          `${BARE}.${table} has other indexes or constraints than the copy: ${bare} ` +
            `instead of ${ours}`,
        );
      }
    }
  });
}

/** Access methods and kinds of constraints, as one text. */
function describe(table: string): string {
  return `concat(
    (select string_agg(amname || ' ' || replace(i.indkey::text, ' ', ','), '; ' order by amname, i.indkey::text)
       from pg_index i join pg_class c on c.oid = i.indexrelid join pg_am a on a.oid = c.relam
      where i.indrelid = '${table}'::regclass),
    ' | ',
    (select string_agg(contype::text || ' ' || conkey::text, '; ' order by contype, conkey::text)
       from pg_constraint where conrelid = '${table}'::regclass and conparentid = 0
        and contype <> 'n'))`;
}
