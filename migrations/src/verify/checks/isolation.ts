import type { Executor } from '../../engine/Executor';
import { TENANT_POLICY } from '../../schema/policies';
import { ADMIN_ROLE, APP_ROLE } from '../../schema/roles';
import { SEARCH_TABLES } from '../../schema/searchTables';
import { TENANT_TABLES } from '../../schema/tables';
import type { Check } from '../Check';

// Those of them that are there.
const TABLES = [...TENANT_TABLES, ...SEARCH_TABLES];

// The tables in use and their partitions.
const RELATIONS = `
  select c.oid, c.relname, c.relkind, c.relispartition, c.relrowsecurity,
         c.relforcerowsecurity, c.relacl, c.relowner
    from pg_class c
   where c.relnamespace = quote_ident(current_schema())::regnamespace
     and (c.relname = any ($1) or c.oid in (
       select t.relid from pg_class p, pg_partition_tree(p.oid) t
        where p.relname = any ($1) and p.relkind = 'p'
          and p.relnamespace = quote_ident(current_schema())::regnamespace))`;

const COMPLAINTS = `
  with r as (${RELATIONS})
  select relname || ' has no row-level security' as complaint from r
   where not relrowsecurity
   union all
  select relname || ' does not force row-level security on its owner' from r
   where not relforcerowsecurity
   union all
  select relname || ' belongs to ' || relowner::regrole || ' instead of ${ADMIN_ROLE}'
    from r where relowner::regrole::text <> '${ADMIN_ROLE}'
   union all
  select relname || ' has no policy ${TENANT_POLICY} for all commands and roles' from r
   where not relispartition and not exists (
     select from pg_policy p
      where p.polrelid = r.oid and p.polname = '${TENANT_POLICY}' and p.polcmd = '*'
        and p.polpermissive and p.polroles = '{0}'
        and pg_get_expr(p.polqual, p.polrelid) = pg_get_expr(p.polwithcheck, p.polrelid)
        and pg_get_expr(p.polqual, p.polrelid) like '(tenant_id = %app.tenant_id%tenant_required%')
   union all
  select relname || ' has the permissive policy ' || p.polname ||
         ', which lets more rows through'
    from r join pg_policy p on p.polrelid = r.oid
   where p.polpermissive and p.polname <> '${TENANT_POLICY}'
   union all
  select distinct 'The partition ' || relname || ' can be read by ' ||
         case a.grantee when 0 then 'everybody' else a.grantee::regrole::text end ||
         ' past the policies of its table'
    from r, aclexplode(r.relacl) a
   where relispartition and a.grantee <> relowner
   union all
  select relname || ' can be truncated by ${APP_ROLE}, whatever its policy' from r
   where has_table_privilege('${APP_ROLE}', oid, 'truncate')
   union all
  select relname || ' can be written to by ${APP_ROLE}: only triggers may' from r
   where relname = any ('{${SEARCH_TABLES}}')
     and (has_table_privilege('${APP_ROLE}', oid, 'insert, update, delete')
       or has_any_column_privilege('${APP_ROLE}', oid, 'insert, update'))
   order by 1`;

const APP_COMPLAINTS = `
  select unnest(array_remove(array[
           case when rolsuper then 'is a superuser' end,
           case when rolbypassrls then 'bypasses row-level security' end,
           case when pg_has_role(oid, '${ADMIN_ROLE}', 'usage')
                then 'has the rights of ${ADMIN_ROLE} without asking for them' end
         ], null)) as complaint
    from pg_roles where rolname = '${APP_ROLE}'`;

/** What the database itself does to keep tenants apart (design: the database). */
export const isolation: Check = {
  name: 'row-level security is on, forced, and has no way round',
  from: 4,
  async examine({ executor }) {
    const complaints = await read(executor, COMPLAINTS, [TABLES]);
    const app = await read(executor, APP_COMPLAINTS);
    return [
      ...complaints.map(complaint => `${complaint}.`),
      ...app.map(complaint => `${APP_ROLE} ${complaint}.`),
    ];
  },
};

async function read(
  executor: Executor,
  sql: string,
  values?: unknown[],
): Promise<string[]> {
  const rows = await executor.read<{ complaint: string }>(sql, values);
  return rows.map(({ complaint }) => complaint);
}
