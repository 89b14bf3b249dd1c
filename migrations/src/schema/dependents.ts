import type { Executor } from '../engine/Executor';
import { RefusedError } from '../errors';
import { archiveName, oldName, partitionedName } from './partitions';
import { TENANT_TABLES } from './tables';

interface Dependent {
  /** The object in words. */
  name: string;
  /** The statement that drops it, where one alone does. */
  statement: string | null;
}

// The tables whose own keys and policies reference ours.
const CATALOG_TABLES = TENANT_TABLES.flatMap(table => [
  table,
  oldName(table),
  partitionedName(table),
  archiveName(table),
]);

/**
 * What of others hangs on tables: foreign keys, views, functions and policies that reference
 * them, their partitions, or their row types.
 */
const DEPENDENTS = `
  with named as (
    select c.oid, name = any ($1::text[]) as dropped from unnest($1::text[] || $2::text[]) name
      join pg_class c on c.relname = name
       and c.relnamespace = (select oid from pg_namespace where nspname = current_schema())
       and c.relkind in ('r', 'p')
  ), ours as (
    select oid, dropped from named union select relid, dropped from named, pg_partition_tree(oid)
  ), types as (
    select unnest(array[t.oid, t.typarray]) as oid
      from ours join pg_class c using (oid) join pg_type t on t.oid = c.reltype
     where dropped
  ), own as (
    select oid from ours
     union select to_regclass(name)::oid from unnest($3::text[]) name
     union select relid from unnest($3::text[]) name, pg_partition_tree(to_regclass(name))
  )
  select distinct coalesce(
           'the foreign key ' || k.conname || ' of ' || k.conrelid::regclass,
           case v.relkind when 'm' then 'the materialized view ' when 'v' then 'the view ' end || v.oid::regclass,
           pg_describe_object(d.classid, d.objid, d.objsubid)) as name,
         coalesce(
           'alter table ' || k.conrelid::regclass || ' drop constraint ' || quote_ident(k.conname),
           case v.relkind when 'm' then 'drop materialized view ' when 'v' then 'drop view ' end || v.oid::regclass) as statement
    from pg_depend d
    left join pg_constraint k on d.classid = 'pg_constraint'::regclass and k.oid = d.objid and k.contype = 'f'
    left join pg_policy p on d.classid = 'pg_policy'::regclass and p.oid = d.objid
    left join pg_rewrite r on d.classid = 'pg_rewrite'::regclass and r.oid = d.objid
    left join pg_class v on v.oid = r.ev_class and v.relkind in ('v', 'm')
   where d.deptype = 'n'
     and (d.refclassid = 'pg_class'::regclass and d.refobjid in (select oid from ours where dropped or k.oid is not null)
       or d.refclassid = 'pg_type'::regclass and d.refobjid in (select oid from types))
     and d.classid not in ('pg_trigger'::regclass, 'pg_attrdef'::regclass)
     and coalesce(k.conrelid, p.polrelid, 0) not in (select oid from own where oid is not null)
     and not (d.classid = 'pg_constraint'::regclass and k.oid is null)
   order by 1`;

/**
 * Reads what of others hangs on tables.
 *
 * @param tables - the names of those that go, as far as they exist
 * @param emptied - those that lose rows: only foreign keys matter there
 */
export async function readDependents(
  executor: Executor,
  tables: readonly string[],
  emptied: readonly string[] = [],
): Promise<Dependent[]> {
  return executor.read<Dependent>(DEPENDENTS, [
    tables,
    emptied,
    CATALOG_TABLES,
  ]);
}

/**
 * Refuses an undo before it begins while something of others hangs on tables that it drops or
 * empties: a foreign key may cascade to rows of others, and a view makes it fail halfway.
 *
 * @param tables - the names of those that are dropped, as far as they exist
 * @param emptied - those that lose rows: only foreign keys matter there
 * @throws {@link RefusedError} with all of it, and the statements that help
 */
export async function refuseDependentsOf(
  executor: Executor,
  tables: readonly string[],
  emptied: readonly string[] = [],
): Promise<void> {
  const found = await readDependents(executor, tables, emptied);
  if (found.length > 0) {
    const names = found.map(({ name }) => name).join('; ');
    const statements = found.flatMap(({ statement }) => statement ?? []);
    throw new RefusedError(
      `These hang on tables that the command would drop or empty: ${names}. Drop them, and run ` +
        `the command again.${statements
          .map(each => `\n    ${each};`)
          .join('')}`,
    );
  }
}
