import type { Executor } from '../engine/Executor';
import { tenantPolicyStatements } from '../schema/policies';
import { closePartitionStatements } from '../schema/grants';
import {
  catchAllPartition,
  defaultTenantPartition,
  storageParameters,
} from '../schema/partitions';
import { ownerStatement } from '../roles';
import { DEFAULT_TENANT_ID, TENANT_TABLES } from '../schema/tables';
import type { TenantTable } from '../schema/tables';
import { escapeIdentifier, escapeLiteral } from '../sql';

import type { ShardedTable } from '../schema/citus';

// Neither Citus nor PostgreSQL turns a partitioned table into another kind of table: the
// tables are made anew beside those in use, and take their place. They are made in a schema of
// their own, so that they, their indexes and their constraints have their final names.

/** The schema in which the new tables are made. It exists within one transaction only. */
export const SIDE = 'tenancy_new_tables';

/** What a table has beside its columns, as statements that make it on another one. */
export interface TableParts {
  table: ShardedTable;
  /** Columns that are not generated, as SQL. */
  columns: string[];
  /** Of the table, or of the partitions where it has some. */
  storage: string;
  indexes: string[];
  keys: string[];
  foreignKeys: string[];
  grants: string[];
  comment: string | null;
  /** All columns identify a row, because there is no primary key. */
  identifiedByAll: boolean;
}

/** Reads what a table has, in the schema of the session. */
export async function readParts(
  executor: Executor,
  table: ShardedTable,
): Promise<TableParts> {
  const [{ isPartitioned, ...facts }] = await executor.read<
    Omit<TableParts, 'table' | 'storage'> & { isPartitioned: boolean }
  >(
    `select
       array(select quote_ident(a.attname) from pg_attribute a
              where a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
                and a.attgenerated = '' order by a.attnum) as columns,
       array(select regexp_replace(pg_get_indexdef(i.indexrelid), ' ON (ONLY )?\\S+ USING ',
                                   ' ON ${SIDE}.' || quote_ident($1) || ' USING ')
               from pg_index i
              where i.indrelid = t.oid and i.indisvalid
                and not exists (select from pg_constraint k where k.conindid = i.indexrelid
                                   and k.conrelid = t.oid and k.contype in ('p', 'u', 'x'))
              order by i.indexrelid) as indexes,
       array(select format('alter table ${SIDE}.%I add constraint %I %s', $1, k.conname,
                           pg_get_constraintdef(k.oid))
               from pg_constraint k where k.conrelid = t.oid and k.contype in ('p', 'u')
              order by k.contype, k.conname) as keys,
       array(select format('alter table ${SIDE}.%I add constraint %I %s', $1, k.conname,
                           pg_get_constraintdef(k.oid))
               from pg_constraint k
              where k.conrelid = t.oid and k.contype = 'f' and k.conparentid = 0
              order by k.conname) as "foreignKeys",
       array(select format('grant %s on ${SIDE}.%I to %s', string_agg(g.privilege_type, ', '), $1,
                           case g.grantee when 0 then 'public' else g.grantee::regrole::text end)
               from aclexplode(t.relacl) g where g.grantee <> t.relowner
              group by g.grantee order by g.grantee) as grants,
       obj_description(t.oid, 'pg_class') as comment,
       not exists (select from pg_index i where i.indrelid = t.oid and i.indisprimary)
         as "identifiedByAll",
       t.relkind = 'p' as "isPartitioned"
     from pg_class t where t.oid = to_regclass(quote_ident($1))`,
    [table],
  );
  return {
    table,
    ...facts,
    storage: await storageParameters(
      executor,
      isPartitioned ? catchAllPartition(table as TenantTable) : table,
    ),
  };
}

/** The statements that make the tables, empty, in {@link SIDE}. */
export function createTables(
  parts: TableParts[],
  { partitioned }: { partitioned: boolean },
): string[] {
  return parts.flatMap(({ table, storage }) => {
    const name = `${SIDE}.${escapeIdentifier(table)}`;
    const columns = `like ${escapeIdentifier(
      table,
    )} including all excluding indexes excluding statistics`;
    if (!partitioned || !isPartitionable(table)) {
      return [`create table ${name} (${columns})${storage}`];
    }
    return [
      `create table ${name} (${columns}) partition by list (tenant_id)`,
      `create table ${SIDE}.${defaultTenantPartition(table)}
  partition of ${name} for values in ('${DEFAULT_TENANT_ID}')${storage}`,
      `create table ${SIDE}.${catchAllPartition(table)}
  partition of ${name} default${storage}`,
    ];
  });
}

/** The statement that copies the rows of a table. */
export function copyRows(
  schema: string,
  { table, columns }: TableParts,
): string {
  const name = escapeIdentifier(table);
  const list = columns.join(', ');
  return `insert into ${SIDE}.${name} (${list})
select ${list} from ${escapeIdentifier(schema)}.${name}`;
}

/** What a table and its copy are compared by: the rows, and a sum over all of their values. */
export function checksum(schema: string, { table, columns }: TableParts) {
  return `select count(*)::text as rows,
       coalesce(sum(hashtextextended(row(${columns.join(
         ', ',
       )})::text, 0)::numeric), 0)::text as sum
  from ${escapeIdentifier(schema)}.${escapeIdentifier(table)}`;
}

/** The statements that give the tables in {@link SIDE} what else the others have. */
export function addKeysPoliciesAndGrants(
  parts: TableParts[],
  { partitioned }: { partitioned: boolean },
): string[] {
  return [
    ...parts.flatMap(({ foreignKeys }) => foreignKeys),
    ...parts.flatMap(({ table, grants, comment, identifiedByAll }) => {
      const name = `${SIDE}.${escapeIdentifier(table)}`;
      const partitions = partitioned ? partitionsOf(table) : [];
      return [
        ...[table, ...partitions].map(each =>
          identifiedByAll
            ? `alter table ${SIDE}.${escapeIdentifier(
                each,
              )} replica identity full`
            : '',
        ),
        ...tenantPolicyStatements(table),
        ownerStatement(table),
        ...partitions.flatMap(closePartitionStatements),
        ...grants,
        comment === null
          ? ''
          : `comment on table ${name} is ${escapeLiteral(comment)}`,
      ];
    }),
  ].filter(Boolean);
}

/** The statements by which the tables in {@link SIDE} take the place of those in use. */
export function replaceTables(
  schema: string,
  parts: TableParts[],
  { partitioned }: { partitioned: boolean },
): string[] {
  const to = escapeIdentifier(schema);
  return [
    ...[...parts]
      .reverse()
      .map(({ table }) => `drop table ${to}.${escapeIdentifier(table)}`),
    ...parts
      .flatMap(({ table }) => [
        table,
        ...(partitioned ? partitionsOf(table) : []),
      ])
      .map(name => `alter table ${SIDE}.${name} set schema ${to}`),
    `drop schema ${SIDE}`,
  ];
}

function partitionsOf(table: ShardedTable): string[] {
  return isPartitionable(table)
    ? [defaultTenantPartition(table), catchAllPartition(table)]
    : [];
}

function isPartitionable(table: ShardedTable): table is TenantTable {
  return TENANT_TABLES.some(each => each === table);
}
