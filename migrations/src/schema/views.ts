import type { Executor } from '../engine/Executor';
import { passesPolicies } from './policies';

/** A view that shows rows of the tables, itself or through another one. */
export interface TableView {
  /** As SQL, with its schema unless that is the one of the tables. */
  name: string;
  /** As SQL, with the schema. */
  qualifiedName: string;
  owner: string;
  ownerIsSuperuser: boolean;
  materialized: boolean;
  /** Its owner bypasses the policies. */
  bypasses: boolean;
  /** The option `security_invoker`, if it is set. */
  securityInvoker: string | null;
  /** It reads with the rights of the role that queries it (security_invoker). */
  invoker: boolean;
  /** It reads one of the tables directly. */
  direct: boolean;
  /** The login may change it. */
  ours: boolean;
  /** The roles that may read it, besides its owner. */
  readers: string[];
  /**
   * The table whose primary key its GROUP BY uses in place of all columns; the view then
   * depends on that key.
   */
  groupedByKeyOf: string | null;
}

/** The version since which views have the option `security_invoker`. */
export const SECURITY_INVOKER_SINCE = 150000;

/**
 * The views on tables, also through other views.
 *
 * @param tables - names as SQL, or their OIDs
 */
export async function readViews(
  executor: Executor,
  tables: readonly (string | number)[],
): Promise<TableView[]> {
  return executor.read<TableView>(
    `with recursive reading (oid) as (
       select unnest($1::regclass[])::oid
       union
       select r.ev_class
         from reading
         join pg_depend d on d.refclassid = 'pg_class'::regclass
                         and d.refobjid = reading.oid
                         and d.classid = 'pg_rewrite'::regclass
         join pg_rewrite r on r.oid = d.objid
     ), views as (
       select c.*, (select option_value from pg_options_to_table(c.reloptions)
                     where option_name = 'security_invoker') as invoker
         from reading join pg_class c using (oid)
        where c.relkind in ('v', 'm') and c.oid <> all ($1::regclass[]::oid[])
     ), used as (
       select r.ev_class as view, d.refclassid, d.refobjid
         from pg_rewrite r
         join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid
     )
     select v.oid::regclass::text as name,
            format('%I.%I', n.nspname, v.relname) as "qualifiedName",
            o.rolname as owner, o.rolsuper as "ownerIsSuperuser",
            v.relkind = 'm' as materialized,
            ${passesPolicies('o')} as bypasses,
            v.invoker as "securityInvoker",
            coalesce(v.invoker::boolean, false) as invoker,
            exists (select from used u
                     where u.view = v.oid and u.refclassid = 'pg_class'::regclass
                       and u.refobjid = any ($1::regclass[]::oid[])) as direct,
            pg_has_role(session_user, v.relowner, 'USAGE') as ours,
            array(select coalesce(r.rolname, 'PUBLIC')
                    from aclexplode(v.relacl) a
                    left join pg_roles r on r.oid = a.grantee
                   where a.privilege_type = 'SELECT' and a.grantee <> v.relowner
                   order by 1)::text[] as readers,
            (select min(t.relname) from used u
               join pg_constraint k on k.oid = u.refobjid and k.contype = 'p'
               join pg_class t on t.oid = k.conrelid
              where u.view = v.oid and u.refclassid = 'pg_constraint'::regclass
                and k.conrelid = any ($1::regclass[]::oid[])) as "groupedByKeyOf"
       from views v
       join pg_namespace n on n.oid = v.relnamespace
       join pg_roles o on o.oid = v.relowner
      order by 2`,
    [tables.map(String)],
  );
}

/** Whether a view shows rows past the policies, because its owner bypasses them. */
export function bypassesPolicies({ bypasses, invoker }: TableView): boolean {
  return bypasses && !invoker;
}
