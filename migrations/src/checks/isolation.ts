import { operatorCommand } from '../operatorCommand';
import { forgetStatement } from '../engine/journal';
import { ready } from '../phases/phase5_partitions/97_mark_ready';
import { ADMIN_ROLE } from '../roles';
import {
  ADMIN_POLICY,
  adminPolicyStatement,
  CREATE_TENANT_REQUIRED,
  passesPolicies,
  TENANT_POLICY,
  TENANT_REQUIRED,
  TENANT_REQUIRED_BODY,
  TENANT_SETTING,
  tenantPolicyStatements,
} from '../schema/policies';
import { READY_TABLE } from '../schema/tables';
import { escapeIdentifier, escapeLiteral } from '../sql';
import { script } from '../text';
import { GRANTEE, HAS } from './subjects';

/** A row of a check's query: a fault. */
export interface Fault {
  /** What the message names. */
  object: string;
  /** The statements that end it. */
  run: string[] | null;
  /** The role that is not the database user, if it is about one. */
  who?: string | null;
  /** For a table: the one that the error of its policy names. */
  policy?: string;
  /** The name of the schema of the tables. */
  schema: string;
}

/** Something that must hold for tenants to be kept apart. */
export interface Check {
  name: string;
  /** The list of the report in which its faults are. */
  level: 'missing' | 'findings' | 'deviations';
  /** A query behind SUBJECTS whose rows are the faults, without their schema. */
  sql: string;
  /** A sentence without its full stop; a predicate where `who` is a column. */
  message(fault: Fault): string;
  /** What to do, if that is not to run the statements of the fault. */
  fix?(fault: Fault): { remedy: string; script?: string };
}

/** The first object identifier after those of PostgreSQL itself. */
const FIRST_NORMAL_OID = 16384;

// The condition as PostgreSQL prints it. The dependencies of a policy tell which function it
// calls.
const SETTING = `NULLIF\\(current_setting\\('app\\.tenant_id'::text, true\\), ''::text\\)`;
const REQUIRED = `([^\\s()]+\\.)?tenant_required\\('TABLE'::text\\)`;
const CONDITION = escapeLiteral(
  `^\\(tenant_id = \\(COALESCE\\(${SETTING}, \\(${REQUIRED}\\)::text\\)\\)::uuid\\)$`,
);
const isCondition = (column: string) =>
  `coalesce(pg_get_expr(p.${column}, p.polrelid) ~ replace(${CONDITION}, 'TABLE', t.policy), false)`;

const TENANT_REQUIRED_OID = `(
  select p.oid from pg_proc p join pg_namespace n on n.oid = p.pronamespace
   where n.nspname = $1 and p.proname = 'tenant_required'
     and p.proargtypes = array['text'::regtype::oid]::oidvector)`;

/** Whether a policy `p` is the migration's for `portal_admin` alone. */
const ADMITS_ADMIN = `(p.polname = '${ADMIN_POLICY}' and p.polpermissive and p.polcmd = '*'
  and p.polroles = array[(select oid from admin)]
  and pg_get_expr(p.polqual, p.polrelid) = 'true'
  and pg_get_expr(p.polwithcheck, p.polrelid) = 'true')`;

/** Whether a role has any right on a relation, of which PostgreSQL asks for rows. */
const mayUse = (role: string, relation: string) =>
  `(has_table_privilege(${role}, ${relation}, 'SELECT, INSERT, UPDATE, DELETE')
    or has_any_column_privilege(${role}, ${relation}, 'SELECT, INSERT, UPDATE'))`;

/** The statements that revoke a privilege from each grantee through which a looker has it. */
const revokeFrom = (privilege: string, object: string, acl: string) =>
  `array(select format('revoke ${privilege} on %s from %s', ${object}, ${GRANTEE})
           from aclexplode(${acl}) x
          where exists (select from lookers l where ${HAS}) group by x.grantee)`;

/** Statements, with a search path on which the tables' names resolve. */
const restore = (schema: string, statements: string[]) => ({
  remedy: 'restore it as the migration makes it',
  script: script([
    'begin',
    `set local search_path = ${escapeIdentifier(schema)}`,
    ...statements,
    'commit',
  ]),
});

/** The settings of a session of the application that meet a condition on `name` and `value`. */
const beginsWith = (condition: string) => `
  select null as who, c as object, array[format('alter %s reset %s', concat_ws(' in ',
                   case when s.setrole <> 0 then format('role %I', $2::text)
                        when s.setdatabase = 0 then 'role all' end,
                   case when s.setdatabase <> 0 then format('database %I', current_database()) end),
                 name)] as run
            from pg_db_role_setting s cross join unnest(s.setconfig) c
           cross join lateral (
             select split_part(c, '=', 1) as name, substr(c, strpos(c, '=') + 1) as value) setting
           where s.setrole in (0, (select oid from this_user))
             and s.setdatabase in (0, (select oid from pg_database where datname = current_database()))
             and ${condition}
           order by 2`;

/** All, in the order of the report. */
export const CHECKS: Check[] = [
  {
    name: 'the roles exist',
    level: 'missing',
    // A dump has none.
    sql: `select name as object, array[format('create role %I %s', name, options)] as run
            from (values ('${ADMIN_ROLE}', 'nologin bypassrls'), ($2::text, 'login noinherit'))
                   wanted (name, options)
           where not exists (select from pg_roles where rolname = name)`,
    message: ({ object }) => `There is no role ${object}`,
  },
  {
    name: 'portal_admin may use the schema',
    level: 'missing',
    sql: `select n.nspname as object, array[format('grant usage, create on schema %I to ${ADMIN_ROLE}', n.nspname)] as run
            from pg_namespace n, admin a
           where n.nspname = $1 and not has_schema_privilege(a.oid, n.oid, 'USAGE')`,
    message: ({ object }) =>
      `${ADMIN_ROLE} has no USAGE on the schema ${object}`,
  },
  {
    name: 'the application has the rights that it needs',
    level: 'missing',
    sql: `select null as who, string_agg(lacks, ', ' order by lacks) as object,
                 array_agg(format('grant %s to %I', statement, $2::text) order by lacks) as run
            from (
              select upper(privilege collate "C") || ' on ' || t.name as lacks,
                     format('%s on table %s', privilege, t.sql) as statement
                from tables t, this_user u, unnest(t.may) privilege
               where t.kind <> 'side' and not has_table_privilege(u.oid, t.oid, privilege)
               union all
              select 'USAGE on the schema ' || n.nspname, format('usage on schema %I', n.nspname)
                from pg_namespace n, this_user u
               where n.nspname = $1 and not has_schema_privilege(u.oid, n.oid, 'USAGE')
               union all
              -- Of columns that take their values from them, as a serial does.
              select 'USAGE on ' || s.relname, format('usage on sequence %I.%I', n.nspname, s.relname)
                from this_user u, tables t
                join pg_attrdef a on a.adrelid = t.oid
                join pg_depend d on d.classid = 'pg_attrdef'::regclass and d.objid = a.oid
                                and d.refclassid = 'pg_class'::regclass
                join pg_class s on s.oid = d.refobjid and s.relkind = 'S'
                join pg_namespace n on n.oid = s.relnamespace
               where t.kind = 'own'
                 -- In this order: the function fails for a relation that is no sequence.
                 and case s.relkind when 'S'
                       then not has_sequence_privilege(u.oid, s.oid, 'USAGE, UPDATE') end
               union all
              select 'EXECUTE on tenant_required', format('execute on function %I.${TENANT_REQUIRED}', $1::text)
                from this_user u
               where not has_function_privilege(u.oid, ${TENANT_REQUIRED_OID}, 'EXECUTE')
            ) missing
          having count(*) > 0`,
    message: ({ object }) => `has no ${object}`,
  },
  {
    name: 'the application sees tables without policies',
    level: 'missing',
    // An event trigger may enable row-level security on new tables.
    sql: `select string_agg(name, ', ' order by position) as object,
                 array_agg(format('alter table %s disable row level security', sql) order by position) as run
            from tables where kind = 'other' and enabled having count(*) > 0`,
    message: ({ object }) =>
      `Row-level security hides the rows of ${object} from the application`,
  },
  {
    name: 'all tables are there',
    level: 'missing',
    sql: `select string_agg(n.name, ', ' order by n.position) as object, null as run from named n
           where n.wanted and not exists (select from tables t where t.name = n.name)
          having count(*) > 0`,
    message: ({ object, schema }) =>
      `There is no ${object} in schema "${schema}"`,
    fix: ({ object }) => ({
      remedy:
        object === READY_TABLE
          ? `run "${forgetStatement(ready)}", "${operatorCommand('phase5')}"`
          : `run "${operatorCommand('upgrade')}", or "${operatorCommand(
              'phase5',
            )}" where that is not complete`,
    }),
  },
  {
    name: 'the policies bind the application',
    level: 'findings',
    sql: `select a.who, a.passes as object,
                 case when a.who is not null
                      then array(select format('revoke %I from %I', through, $2::text) from unnest(a.through) through)
                      when a.passes = 'is a superuser' then array[format('alter role %I nosuperuser', $2::text)]
                      when a.passes = 'has BYPASSRLS' then array[format('alter role %I nobypassrls', $2::text)]
                      when current_setting('server_version_num')::int < 160000
                      then array[format('alter role %I noinherit', $2::text)]
                      else array[format('grant ${ADMIN_ROLE} to %I with inherit false', $2::text)] end as run
            from actors a where a.passes is not null order by a.who nulls first`,
    message: ({ object }) => object,
  },
  {
    name: 'no other role has the policy of portal_admin',
    level: 'findings',
    // Owners of the database and of the schema migrate.
    sql: `select m.rolname::text as object,
                 array[case when current_setting('server_version_num')::int < 160000
                            then format('revoke ${ADMIN_ROLE} from %I', m.rolname)
                            else format('grant ${ADMIN_ROLE} to %I with inherit false granted by %I',
                                        m.rolname, am.grantor::regrole) end] as run
            from admin a
            join pg_auth_members am on am.roleid = a.oid
            join pg_roles m on m.oid = am.member
           where not a.bypasses and coalesce((to_jsonb(am) ->> 'inherit_option')::boolean, m.rolinherit)
             and not m.rolsuper and m.rolname <> $2
             and not exists (select from pg_database d where d.datname = current_database()
                                and pg_has_role(m.oid, d.datdba, 'USAGE'))
             and not exists (select from pg_namespace n where n.nspname = $1
                                and pg_has_role(m.oid, n.nspowner, 'USAGE'))
           order by 1`,
    message: ({ object }) =>
      `The role ${object} inherits ${ADMIN_ROLE}, whose policy lets it read and write the rows of every tenant`,
  },
  {
    name: 'the application owns no table',
    level: 'findings',
    sql: `select l.who, string_agg(t.name, ', ' order by t.position, t.name) as object,
                 array_agg(format('alter table %s owner to ${ADMIN_ROLE}', t.sql) order by t.position) as run
            from lookers l join tables t on pg_has_role(l.oid, t.owner, 'USAGE')
           where t.owner <> (select oid from admin)
           group by l.oid, l.who`,
    message: ({ object }) =>
      `owns ${object}, itself or by a role that it inherits`,
  },
  {
    name: 'the application has no right past the policies',
    level: 'findings',
    sql: `select h.who, t.name || ' (' || string_agg(distinct upper(h.privilege collate "C"), ', ') || ')' as object,
                 array_agg(distinct format('revoke %s on table %s from %s', h.privilege, t.sql, h.name)) as run
            from held h join tables t using (oid)
           where h.privilege <> all (t.may)
           group by h.looker, h.who, t.oid, t.name, t.position order by t.position, t.name`,
    message: ({ object }) =>
      `has rights on ${object}, which no policy governs or only ${ADMIN_ROLE} needs`,
  },
  {
    name: 'row-level security is enabled, and forced on the owner',
    level: 'findings',
    sql: `select what || ' on ' || name as object,
                 array[format('alter table %s %s row level security', sql, statement)] as run
            from guarded, lateral (values ('enabled', 'enable', enabled), ('forced', 'force', forced))
                    as v (what, statement, holds)
           where not holds order by position, what`,
    message: ({ object }) => `Row-level security is not ${object}`,
  },
  {
    name: 'each table has the policy that keeps tenants apart',
    level: 'findings',
    sql: `select t.name as object, t.policy, null as run from guarded t
           where not exists (
             select from pg_policy p
              where p.polrelid = t.oid and p.polname = '${TENANT_POLICY}' and p.polpermissive
                and p.polcmd = '*' and p.polroles = '{0}'
                and ${isCondition('polqual')} and ${isCondition('polwithcheck')}
                -- It calls no function, cast or operator of others. PostgreSQL's have no entry.
                and not exists (
                  select from pg_depend d
                   where d.classid = 'pg_policy'::regclass and d.objid = p.oid
                     and d.refclassid <> 'pg_class'::regclass
                     and d.refobjid is distinct from ${TENANT_REQUIRED_OID}))
           order by t.position`,
    message: ({ object }) =>
      `The policy ${TENANT_POLICY} on ${object} is missing, or not the one that keeps tenants apart`,
    fix: ({ object, policy, schema }) =>
      restore(schema, tenantPolicyStatements(object, policy!)),
  },
  {
    name: 'portal_admin passes',
    level: 'findings',
    sql: `select t.name as object, null as run from tables t
           where not (select bypasses from admin)
             and (t.oid in (select oid from guarded) or t.kind = 'part' and t.enabled)
             and not exists (select from pg_policy p where p.polrelid = t.oid and ${ADMITS_ADMIN})
           order by t.position, t.name`,
    message: ({ object }) =>
      `${ADMIN_ROLE} has no BYPASSRLS, and its policy ${ADMIN_POLICY} on ${object} is missing or another one`,
    fix: ({ object, schema }) =>
      restore(schema, [adminPolicyStatement(object)]),
  },
  {
    name: 'no other policy lets rows through',
    level: 'findings',
    sql: `select format('%s on %s', p.polname, t.name) as object,
                 array[format('drop policy %I on %s', p.polname, t.sql)] as run
            from guarded t join pg_policy p on p.polrelid = t.oid
           where p.polpermissive and p.polname <> '${TENANT_POLICY}' and not ${ADMITS_ADMIN}
           order by t.position, p.polname`,
    message: ({ object }) =>
      `The policy ${object} lets rows through beside ${TENANT_POLICY}: permissive policies add up`,
  },
  {
    name: 'the policies refuse without a tenant',
    level: 'findings',
    // A log may have had the statement that restores it in one line.
    sql: `select format('%I.${TENANT_REQUIRED}', $1::text) as object, null as run
           where not exists (
             select from pg_proc p join pg_language l on l.oid = p.prolang
              where p.oid = ${TENANT_REQUIRED_OID} and p.proowner = (select oid from admin)
                and regexp_replace(p.prosrc, '\\s+', ' ', 'g')
                    = regexp_replace(${escapeLiteral(
                      TENANT_REQUIRED_BODY,
                    )}, '\\s+', ' ', 'g')
                and l.lanname = 'plpgsql' and p.prorettype = 'uuid'::regtype
                and p.prokind = 'f' and p.provolatile = 's' and p.proparallel = 's'
                and not (p.prosecdef or p.proisstrict or p.proleakproof or p.proretset)
                and p.proconfig is null)`,
    message: ({ object }) =>
      `The function ${object}, which the policies call without a tenant, is missing, or not that of the migration`,
    fix: ({ schema }) =>
      restore(schema, [
        CREATE_TENANT_REQUIRED,
        `alter function ${TENANT_REQUIRED} owner to ${ADMIN_ROLE}`,
      ]),
  },
  {
    name: 'no view shows rows of every tenant',
    level: 'findings',
    // Each view of a chain reads as its owner, or as who reads it with security_invoker. No
    // policy governs the copies of a materialized view.
    sql: `, edges (reader, source) as materialized (
        select r.ev_class, d.refobjid
          from pg_rewrite r
          join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid
                          and d.refclassid = 'pg_class'::regclass
         where r.ev_type = '1' and r.ev_class <> d.refobjid and r.oid >= ${FIRST_NORMAL_OID}
      ), ours as (
        select * from tables where kind <> 'other'
      ), above (oid) as (
        select oid from ours union select e.reader from above join edges e on e.source = above.oid
      ), views as materialized (
        select c.*, format('%I.%I', n.nspname, c.relname) as sql,
               coalesce((select option_value::boolean from pg_options_to_table(c.reloptions)
                          where option_name = 'security_invoker'), false) as invoker
          from above join pg_class c on c.oid = above.oid
          join pg_namespace n on n.oid = c.relnamespace where c.relkind in ('v', 'm')
      ), reach (looker, who, view, role, relation) as (
        select l.oid, l.who, v.oid, l.oid, v.oid from lookers l, views v
         where has_schema_privilege(l.oid, v.relnamespace, 'USAGE') and ${mayUse(
           'l.oid',
           'v.oid',
         )}
         union
        select r.looker, r.who, r.view, reading.role, e.source
          from reach r
          join views v on v.oid = r.relation and v.relkind = 'v'
          join edges e on e.reader = v.oid
         cross join lateral (select case when v.invoker then r.role else v.relowner end as role) reading
         where ${mayUse('reading.role', 'e.source')}
      )
      select r.who, v.sql as object,
             case when v.relkind = 'v' and not v.invoker and current_setting('server_version_num')::int >= 150000
                  then array[format('alter view %s set (security_invoker = true)', v.sql)]
                  else ${revokeFrom(
                    'all',
                    `'table ' || v.sql`,
                    `array_cat(v.relacl, (select array_agg(x) from pg_attribute a, unnest(a.attacl) x
                                           where a.attrelid = v.oid))`,
                  )} end as run
        from (select distinct looker, who, view from reach r
               where exists (select from views v where v.oid = r.relation and v.relkind = 'm')
                  or exists (select from ours t join pg_roles a on a.oid = r.role
                              where t.oid = r.relation and (${passesPolicies(
                                'a',
                              )} or not t.enabled))) r
        join views v on v.oid = r.view order by 2`,
    message: ({ object }) =>
      `has rights on the view ${object}, which shows rows of every tenant`,
  },
  {
    name: 'no function acts past the policies',
    level: 'findings',
    // What a function does can't be told. A trigger function returns nothing to its caller.
    sql: `select l.who, format('%s, a SECURITY DEFINER function that runs as %s, whom no policy binds',
                               f.sql, o.rolname) as object,
                 ${revokeFrom(
                   'execute',
                   `'routine ' || f.sql`,
                   `coalesce(p.proacl, acldefault('f', p.proowner))`,
                 )} as run
            from pg_proc p
            join pg_roles o on o.oid = p.proowner and ${passesPolicies('o')}
            join pg_namespace n on n.oid = p.pronamespace
           cross join lateral (
             select format('%I.%I(%s)', n.nspname, p.proname,
                           pg_get_function_identity_arguments(p.oid)) as sql) f
            join lookers l on has_schema_privilege(l.oid, n.oid, 'USAGE')
                          and has_function_privilege(l.oid, p.oid, 'EXECUTE')
           where p.prosecdef and p.oid >= ${FIRST_NORMAL_OID} and p.proowner <> l.oid
             and p.prorettype <> all ('{trigger,event_trigger}'::regtype[])
             and not (n.nspname = $1 and p.proname = 'tenant_required')
             and not exists (select from pg_depend d
                              where d.classid = 'pg_proc'::regclass and d.objid = p.oid
                                and d.refclassid = 'pg_extension'::regclass and d.deptype = 'e')
           order by 2`,
    message: ({ object }) => `may call ${object}`,
  },
  {
    name: 'sessions begin as the application, without a tenant, and with triggers',
    level: 'findings',
    sql: beginsWith(
      `name in ('role', '${TENANT_SETTING}', 'session_replication_role')
         and value not in ('', 'none', 'origin', $2)`,
    ),
    message: ({ object }) => `begins each session with ${object}`,
  },
  {
    name: 'sessions of the application may write',
    level: 'deviations',
    sql: beginsWith(
      `name = 'default_transaction_read_only' and value not in ('off', 'false', 'no', '0')`,
    ),
    message: ({ object }) => `begins each session with ${object}`,
  },
  {
    name: 'row-level security is on for each partition',
    level: 'deviations',
    sql: `select name as object,
                 array[format('alter table %s enable row level security, force row level security', sql)] as run
            from tables where kind = 'part' and not (enabled and forced) order by name`,
    message: ({ object }) =>
      `Row-level security is not enabled and forced on the partition ${object}`,
  },
  {
    name: 'the tables belong to portal_admin',
    level: 'deviations',
    sql: `select format('%s belongs to %s', name, pg_get_userbyid(owner)) as object,
                 array[format('alter table %s owner to ${ADMIN_ROLE}', sql)] as run
            from tables where kind in ('own', 'read', 'part') and owner <> (select oid from admin)
           order by position, name`,
    message: ({ object }) => `${object} instead of ${ADMIN_ROLE}`,
  },
  {
    name: 'only the owner has rights on partitions',
    level: 'deviations',
    sql: `select distinct format('%s can be reached by %s', t.name, r.name) as object,
                 array[format('revoke all on table %s from %s', t.sql, r.name)] as run
            from tables t join rights r using (oid)
           where t.kind = 'part' and (oid, r.grantee) not in (select oid, grantee from held)
           order by 1`,
    message: ({ object }) =>
      `The partition ${object} past the policies of its table`,
  },
];
