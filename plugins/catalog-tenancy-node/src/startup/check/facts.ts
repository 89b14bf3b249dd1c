import type { TenancyPool } from '../../database';
import { ADMIN_ROLE, SEARCH_TABLES, TENANT_TABLES } from '../tables';

/** The database user, and what it may do. */
export interface UserFacts {
  name: string;
  superuser: boolean;
  bypassesRls: boolean;
  /** It has the rights of `portal_admin` without asking for them. */
  inheritsAdmin: boolean;
  /** It may act as `portal_admin`. */
  mayActAsAdmin: boolean;
  /** Tables that it owns, as itself or by a role that it inherits. */
  owned: string[];
  /** Partitions on which it has any right, whoever that was granted to. */
  partitions: string[];
  /** Tables that it may empty. */
  truncatable: string[];
  /** Rights to write terms, which triggers alone do: `INSERT on entity_search`. */
  writable: string[];
  /** Rights that it lacks, such as `INSERT on relations`. */
  missing: string[];
}

/** One of the tables whose rows belong to tenants. */
export interface TableFacts {
  name: string;
  enabled: boolean;
  forced: boolean;
  policies: PolicyFacts[];
}

export interface PolicyFacts {
  name: string;
  permissive: boolean;
  /** `*` for all. */
  command: string;
  /** For everybody. */
  toPublic: boolean;
  using: string | null;
  withCheck: string | null;
}

/** What the check looks at. */
export interface DatabaseFacts {
  /** `server_version_num` */
  version: number;
  schema: string;
  /** Everybody may create tables and functions in the schema. */
  openSchema: boolean;
  user: UserFacts;
  tables: TableFacts[];
  /** Tables that are not there. */
  absent: string[];
}

// Any of them lets a user past the policies of the parent.
const ANY = 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER';
const ANY_OF_COLUMN = 'SELECT, INSERT, UPDATE, REFERENCES';

// A superuser has every right there is: what it may is not looked at. From
// PostgreSQL 16 on, SET is the right to act as a role.
const USER = `
  select u.rolname as name, u.rolsuper as superuser,
         u.rolbypassrls as "bypassesRls",
         coalesce(pg_has_role(u.oid, a.oid, 'USAGE'), false) as "inheritsAdmin",
         coalesce(pg_has_role(u.oid, a.oid,
           case when current_setting('server_version_num')::int >= 160000
                then 'SET' else 'MEMBER' end), false) as "mayActAsAdmin",
         array(select t.name from every_table t
                where pg_has_role(u.oid, t.owner, 'USAGE')
                  and t.owner is distinct from a.oid
                order by 1) as owned,
         array(select t.name from every_table t
                where t.partition
                  and (has_table_privilege(u.oid, t.oid, '${ANY}')
                    or has_any_column_privilege(u.oid, t.oid, '${ANY_OF_COLUMN}'))
                order by 1) as partitions,
         array(select t.name from every_table t
                where t.name = any (p.tables || p.made) and not t.partition
                  and has_table_privilege(u.oid, t.oid, 'TRUNCATE')
                order by 1) as truncatable,
         array(select w.privilege || ' on ' || t.name
                 from every_table t, unnest(p.wanted) w (privilege)
                where t.name = any (p.made) and w.privilege <> 'SELECT'
                  and (has_table_privilege(u.oid, t.oid, w.privilege)
                    or case w.privilege when 'DELETE' then false
                       else has_any_column_privilege(u.oid, t.oid, w.privilege) end)
                order by 1) as writable,
         array(select w.privilege || ' on ' || t.name
                 from every_table t, unnest(p.wanted) w (privilege)
                where not t.partition
                  and (w.privilege = 'SELECT' or t.name = any (p.tables))
                  and not has_table_privilege(u.oid, t.oid, w.privilege)
                order by 1) as missing
    from parameters p, pg_roles u
    left join pg_roles a on a.rolname = '${ADMIN_ROLE}'
   where u.rolname = session_user`;

const TABLES = `
  select t.name, c.relrowsecurity as enabled, c.relforcerowsecurity as forced,
         coalesce((select json_agg(json_build_object(
             'name', l.polname, 'permissive', l.polpermissive,
             'command', l.polcmd, 'toPublic', l.polroles = '{0}',
             'using', pg_get_expr(l.polqual, l.polrelid),
             'withCheck', pg_get_expr(l.polwithcheck, l.polrelid))
             order by l.polname)
           from pg_policy l where l.polrelid = c.oid), '[]') as policies
    from parameters p, every_table t join pg_class c using (oid)
   where t.name = any (p.tables || p.made) and not t.partition
   order by array_position(p.tables || p.made, t.name)`;

const FACTS = `
  with parameters as (
    select ?::text as schema, ?::text[] as tables, ?::text[] as made, ?::text[] as wanted
  ), every_table as (
    select c.oid, c.relname::text as name, c.relowner as owner, false as partition
      from parameters p
      join pg_namespace n on n.nspname = p.schema
      join pg_class c on c.relnamespace = n.oid
     where c.relname = any (p.tables || p.made || 'tenants'::text)
    union all
    -- The tree begins with the table itself.
    select c.oid, c.relname::text, c.relowner, true
      from parameters p
      join pg_namespace n on n.nspname = p.schema
      join pg_class r on r.relnamespace = n.oid and r.relname = any (p.tables)
     cross join lateral pg_partition_tree(r.oid) as tree
      join pg_class c on c.oid = tree.relid and tree.level > 0
  )
  select current_setting('server_version_num')::int as version,
         p.schema,
         exists (
           select from pg_namespace n, aclexplode(n.nspacl) a
            where n.nspname = p.schema
              and a.grantee = 0 and a.privilege_type = 'CREATE') as "openSchema",
         (select row_to_json(u) from (${USER}) u) as user,
         coalesce((select json_agg(t) from (${TABLES}) t), '[]') as tables,
         array(select a.name from unnest(p.tables || p.made) a (name)
                where a.name not in (select t.name from every_table t)) as absent
    from parameters p`;

/** Looks at the catalogs of PostgreSQL alone. Nothing is locked. */
export async function readFacts(pool: TenancyPool): Promise<DatabaseFacts> {
  const [facts] = await pool.query<DatabaseFacts>(knex =>
    knex.raw(FACTS, [
      pool.schema,
      TENANT_TABLES,
      SEARCH_TABLES,
      ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
    ]),
  );
  return facts;
}
