import type { Executor } from '../engine/Executor';
import { RefusedError } from '../errors';
import { below } from '../text';
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
 * CTEs behind `tree (oid, dropped)`, which is tables with their partitions, and `own (oid)`, the
 * tables whose own keys and policies are ours. `hanging` is what of others depends on them or on
 * their row types, with its schema, the statement that drops it, and the one that makes a view
 * again. Of a table that only loses rows, foreign keys alone count. Views are to be dropped by
 * their depth.
 */
export const HANGING = `types (oid) as (
    select unnest(array[t.oid, t.typarray])
      from tree join pg_class c using (oid) join pg_type t on t.oid = c.reltype where dropped
  ), depending (classid, objid, objsubid, depth) as (
    select d.classid, d.objid, d.objsubid, 1 from pg_depend d
      left join pg_constraint k on d.classid = 'pg_constraint'::regclass and k.oid = d.objid and k.contype = 'f'
     where d.deptype = 'n' and d.classid not in ('pg_trigger'::regclass, 'pg_attrdef'::regclass)
       and (d.refclassid = 'pg_class'::regclass and d.refobjid in (select oid from tree where dropped or k.oid is not null)
         or d.refclassid = 'pg_type'::regclass and d.refobjid in (select oid from types))
     union
    select 'pg_rewrite'::regclass, r.oid, 0, 1
      from pg_rewrite r join tree t on t.oid = r.ev_class and t.dropped
     union
    select d.classid, d.objid, 0, v.depth + 1
      from depending v
      join pg_rewrite r on v.classid = 'pg_rewrite'::regclass and r.oid = v.objid
      join pg_class c on c.oid = r.ev_class and c.relkind in ('v', 'm')
      join pg_depend d on d.refclassid = 'pg_class'::regclass and d.refobjid = c.oid
                      and d.classid = 'pg_rewrite'::regclass and d.deptype = 'n'
      -- Up to version 15 the rule of a view depends on the view itself.
      join pg_rewrite other on other.oid = d.objid and other.ev_class <> c.oid
  ), hanging as (
    select coalesce(v.name, pg_describe_object(h.classid, h.objid, h.objsubid)) as name, h.depth,
           coalesce(x.pronamespace, t.typnamespace, (
             select relnamespace from pg_class
              where oid = coalesce(r.ev_class, k.conrelid, p.polrelid, a.attrelid))) as namespace,
           case when v.name is not null then 'drop ' || v.name
                when k.oid is not null then format('alter table %s drop constraint %I', k.conrelid::regclass, k.conname)
                when r.oid is not null then format('drop rule %I on %s', r.rulename, r.ev_class::regclass)
                when p.oid is not null then format('drop policy %I on %s', p.polname, p.polrelid::regclass)
                when x.oid is not null then format('drop routine %s', x.oid::regprocedure)
                when a.attname is not null then format('alter table %s drop column %I', a.attrelid::regclass, a.attname)
                when t.oid is not null then format('drop domain %s', t.oid::regtype) end as fix,
           'create ' || v.name || case when v.kind = 'v' and current_setting('server_version_num')::int >= 150000
             then ' with (security_invoker = true)' else '' end || ' as ' || rtrim(pg_get_viewdef(v.oid), ';') as again
      from (select classid, objid, objsubid, max(depth) as depth from depending group by 1, 2, 3) h
      left join pg_constraint k on h.classid = 'pg_constraint'::regclass and k.oid = h.objid
      left join pg_rewrite r on h.classid = 'pg_rewrite'::regclass and r.oid = h.objid
      left join lateral (
        select c.oid, c.relkind as kind, case c.relkind when 'm' then 'materialized ' else '' end
                 || format('view %I.%I', n.nspname, c.relname) as name
          from pg_class c join pg_namespace n on n.oid = c.relnamespace
         where c.oid = r.ev_class and c.relkind in ('v', 'm')) v on true
      left join pg_policy p on h.classid = 'pg_policy'::regclass and p.oid = h.objid
      left join pg_proc x on h.classid = 'pg_proc'::regclass and x.oid = h.objid
      left join pg_type t on h.classid = 'pg_type'::regclass and t.oid = h.objid
      left join pg_attribute a on h.classid = 'pg_class'::regclass and h.objsubid > 0
                              and a.attrelid = h.objid and a.attnum = h.objsubid
     where not coalesce(k.contype <> 'f' or k.conparentid <> 0, false)
       and coalesce(k.conrelid, p.polrelid, 0) not in (select oid from own)
       and not exists (select from pg_inherits where h.classid = 'pg_class'::regclass and inhrelid = h.objid))`;

const DEPENDENTS = `
  with recursive named as (
    select c.oid, name = any ($1::text[]) as dropped from unnest($1::text[] || $2::text[]) name
      join pg_class c on c.relname = name
       and c.relnamespace = (select oid from pg_namespace where nspname = current_schema())
       and c.relkind in ('r', 'p')
  ), tree (oid, dropped) as (
    select oid, dropped from named union select relid, dropped from named, pg_partition_tree(oid)
  ), own (oid) as (
    select oid from tree
     union select c.oid from unnest($3::text[]) name join pg_class c on c.oid = to_regclass(name)
     union select relid from unnest($3::text[]) name, pg_partition_tree(to_regclass(name))
  ), ${HANGING}
  select name, fix as statement from hanging order by depth desc, name`;

/**
 * Reads the operator's objects that depend on tables.
 *
 * @param tables - the names of those that go, as far as they exist
 * @param emptied - those that lose rows: only foreign keys matter there
 * @param own - those whose keys and policies are ours, too
 */
export async function readDependents(
  executor: Executor,
  tables: readonly string[],
  emptied: readonly string[] = [],
  own: readonly string[] = CATALOG_TABLES,
): Promise<Dependent[]> {
  return executor.read<Dependent>(DEPENDENTS, [tables, emptied, own]);
}

/**
 * Refuses an undo before it begins while objects of the operator depend on tables that it drops
 * or empties: a foreign key may cascade to other rows, and a view makes the undo fail halfway.
 *
 * @param tables - the names of those that are dropped, as far as they exist
 * @param emptied - those that lose rows: only foreign keys matter there
 * @param own - those whose keys and policies are ours, too
 * @throws {@link RefusedError} with all of it, and the statements that help
 */
export async function refuseDependentsOf(
  executor: Executor,
  tables: readonly string[],
  emptied?: readonly string[],
  own?: readonly string[],
): Promise<void> {
  refuseFound(await readDependents(executor, tables, emptied, own));
}

const OUTSIDE = `
  with recursive schemas (oid) as (
    select oid from pg_namespace where nspname = any ($1)
  ), tree (oid, dropped) as (
    select oid, true from pg_class where relnamespace in (select oid from schemas)
  ), own (oid) as (select oid from tree), ${HANGING}
  select name, fix as statement from hanging
   where namespace not in (select oid from schemas) order by depth desc, name`;

/**
 * The same of schemas that are dropped with all that is in them: CASCADE would drop what is
 * outside of them without a word.
 */
export async function refuseDependentsOfSchemas(
  { read }: Pick<Executor, 'read'>,
  schemas: readonly string[],
): Promise<void> {
  refuseFound(await read<Dependent>(OUTSIDE, [schemas]));
}

function refuseFound(found: Dependent[]): void {
  if (found.length > 0) {
    const names = found.map(({ name }) => name).join('; ');
    throw new RefusedError(
      `These depend on tables that the command would drop or empty: ${names}. Drop them, and run ` +
        `the command again.${below(
          found.flatMap(({ statement }) => statement ?? []),
        )}`,
    );
  }
}
