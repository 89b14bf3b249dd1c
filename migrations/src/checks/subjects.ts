import { OWN_TABLES } from '../ownTables';
import { ADMIN_ROLE } from '../roles';

/** The values of {@link SUBJECTS}. */
export function subjectValues(options: {
  schema: string;
  user: string;
  isPartitioned: boolean;
}): unknown[] {
  const phase = options.isPartitioned ? 5 : 4;
  const named = OWN_TABLES.map(({ since = Infinity, ...table }) => ({
    ...table,
    wanted: since <= phase,
  }));
  return [options.schema, options.user, JSON.stringify(named)];
}

/** A condition: a looker `l` has what was granted in an entry `x` of an access list. */
export const HAS = `(x.grantee = 0 or pg_has_role(l.oid, x.grantee, 'USAGE'))`;

/** The grantee of such an entry as SQL has it. */
export const GRANTEE = `case x.grantee when 0 then 'public' else x.grantee::regrole::text end`;

/**
 * What the checks are about, as the beginning of each query: `$1` is the schema, `$2` the
 * database user.
 *
 * `tables` are the known tables that exist, and all partitions. `actors` are the user and the
 * roles that it can SET ROLE to, without portal_admin, which is granted on purpose. `lookers`
 * are those of them whose rights are examined: `passes` says why policies do not bind the
 * others. `held` are their rights on tables. `guarded` are the tables that need the policy.
 */
export const SUBJECTS = `with recursive named as (
  select *, row_number() over () as position
    from jsonb_to_recordset($3::jsonb)
      as n (name text, kind text, policy text, may text[], wanted boolean)
), found (oid, name) as (
  select c.oid, m.name
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    join named m on m.name = c.relname
   where n.nspname = $1 and c.relkind in ('r', 'p')
   union
  select i.inhrelid, null from found f join pg_inherits i on i.inhparent = f.oid
), tables as (
  select c.oid, format('%I.%I', n.nspname, c.relname) as sql,
         case n.nspname when $1 then c.relname::text
                        else format('%I.%I', n.nspname, c.relname) end as name,
         coalesce(m.kind, 'part') as kind, m.policy, coalesce(m.position, 1000) as position,
         coalesce(m.may, '{}') as may,
         c.relrowsecurity as enabled, c.relforcerowsecurity as forced, c.relowner as owner
    from (select oid, max(name) as name from found group by oid) f
    join pg_class c on c.oid = f.oid
    join pg_namespace n on n.oid = c.relnamespace
    left join named m on m.name = f.name
), admin as (
  select oid, rolbypassrls as bypasses from pg_roles where rolname = '${ADMIN_ROLE}'
), this_user as (
  select oid, rolname as name from pg_roles where rolname = $2
), reached (oid, settable, through) as (
  select oid, true, null::name from this_user
   union
  -- Since PostgreSQL 16 a grant may lack SET; its ADMIN option can give that.
  select m.roleid, r.settable and coalesce((to_jsonb(m) ->> 'set_option')::boolean, true)
                     or m.admin_option,
         coalesce(r.through, g.rolname)
    from reached r
    join pg_auth_members m on m.member = r.oid
    join pg_roles g on g.oid = m.roleid
   where g.rolname <> '${ADMIN_ROLE}'
), actors as (
  select r.oid, nullif(r.rolname, $2)::text as who, a.through,
         case when r.rolsuper then 'is a superuser'
              when r.rolbypassrls then 'has BYPASSRLS'
              when exists (select from admin where pg_has_role(r.oid, oid, 'USAGE'))
              then 'inherits ${ADMIN_ROLE}' end as passes
    from (select oid, array_agg(distinct through::text) as through
            from reached where settable group by oid) a
    join pg_roles r on r.oid = a.oid
), lookers as (
  -- The user has the rights of those that it inherits itself.
  select a.* from actors a, this_user u
   where a.passes is null and (a.who is null or not pg_has_role(u.oid, a.oid, 'USAGE'))
), rights as (
  select t.oid, x.grantee, ${GRANTEE} as name, lower(x.privilege_type collate "C") as privilege
    from tables t
    join pg_class c on c.oid = t.oid
   cross join lateral (
     select * from aclexplode(c.relacl)
      union
     select g.* from pg_attribute a, aclexplode(a.attacl) g
      where a.attrelid = c.oid and not a.attisdropped) x
   -- MAINTAIN, since PostgreSQL 17, shows no rows.
   where x.grantee <> t.owner and x.privilege_type <> 'MAINTAIN'
), held as (
  select l.oid as looker, l.who, x.* from lookers l join rights x on ${HAS}
), guarded as (
  select t.* from tables t
   where t.kind in ('own', 'read')
      -- The other side of a swap counts if the application has a right to it.
      or t.kind = 'side' and t.oid in (select oid from held)
)`;
