import { TENANT_TABLES } from '../../schema/tables';
import type { Executor } from '../../engine/Executor';

/** A view that shows rows of the tables to others with its owner's rights. */
export interface BypassingView {
  /** As SQL, with the schema where it is another one. */
  name: string;
  owner: string;
  materialized: boolean;
  /** The option as it was set, if it was. */
  securityInvoker: string | null;
  /** The login may change it. */
  ours: boolean;
  /** Who may read it besides its owner. */
  readers: string[];
}

/** `security_invoker` is an option of views from here on. */
export const SECURITY_INVOKER_SINCE = 150000;

/**
 * The views on the tables, at any remove, that row-level security would not stop,
 * because their owners bypass it.
 */
export async function bypassingViews(
  executor: Executor,
): Promise<BypassingView[]> {
  return executor.read<BypassingView>(
    `with recursive reading (oid) as (
       select to_regclass(t)::oid from unnest($1::text[]) t
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
        where c.relkind in ('v', 'm')
     )
     select v.oid::regclass::text as name, o.rolname as owner,
            v.relkind = 'm' as materialized, v.invoker as "securityInvoker",
            pg_has_role(session_user, v.relowner, 'USAGE') as ours,
            array(select coalesce(r.rolname, 'PUBLIC')
                    from aclexplode(v.relacl) a
                    left join pg_roles r on r.oid = a.grantee
                   where a.privilege_type = 'SELECT' and a.grantee <> v.relowner
                   order by 1)::text[] as readers
       from views v join pg_roles o on o.oid = v.relowner
      where (o.rolsuper or o.rolbypassrls)
        and not coalesce(v.invoker::boolean, false)
      order by 1`,
    [[...TENANT_TABLES]],
  );
}
