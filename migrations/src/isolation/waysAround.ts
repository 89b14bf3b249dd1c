import { passesPolicies, TENANT_SETTING } from '../schema/policies';
import { ADMIN_ROLE } from '../roles';
import { escapeIdentifier } from '../sql';
import { enumerate } from '../text';
import { findingOf, FIRST_NORMAL_OID, lookersOf } from './actors';
import type { Actors } from './actors';
import { revoke, run } from './Finding';
import type { Grantee, IsolationFinding, QueryRows } from './Finding';
import type { Table } from './tables';

/** Since this version each grant of a role says whether it is inherited. */
const INHERIT_OPTION_SINCE = 160000;

/** Triggers whose function an actor may replace: other sessions run it with their rights. */
export async function findingsOfTriggers(
  read: QueryRows,
  actors: Actors,
  tables: Table[],
): Promise<IsolationFinding[]> {
  const lookers = lookersOf(actors);
  const found = await read<{
    actor: number;
    trigger: string;
    table: string;
    routine: string;
  }>(
    `select a as actor, t.tgname::text as trigger, c.relname::text as table,
            format('%I.%I(%s)', n.nspname, p.proname,
                   pg_get_function_identity_arguments(p.oid)) as routine
       from unnest($1::oid[]) a, pg_trigger t
       join pg_class c on c.oid = t.tgrelid
       join pg_proc p on p.oid = t.tgfoid
       join pg_namespace n on n.oid = p.pronamespace
      where t.tgrelid = any ($2::oid[]) and t.tgparentid = 0 and not t.tgisinternal
        and not p.prosecdef and pg_has_role(a, p.proowner, 'USAGE')
      order by 3, 2`,
    [lookers.map(({ role }) => role.oid), tables.map(({ oid }) => oid)],
  );
  return found.map(({ actor, trigger, table, routine }) =>
    findingOf(
      actors,
      lookers.find(({ role }) => role.oid === actor)!,
      `may replace ${routine}, which the trigger ${trigger} on ${table} calls with the ` +
        `rights of each role that writes there, ${ADMIN_ROLE} among them`,
      run(`alter function ${routine} owner to ${ADMIN_ROLE}`),
    ),
  );
}

/** Rights on statistics, and on functions that read the server's files. */
export async function findingsOfCatalogs(
  read: QueryRows,
  actors: Actors,
): Promise<IsolationFinding[]> {
  const lookers = lookersOf(actors);
  const found = await read<{
    actor: number;
    what: string;
    object: string;
    privilege: string;
    grantees: Grantee[];
  }>(
    `with objects as (
       select c.oid, 'may read ' || c.relname || ', which holds values of rows of every tenant' as what,
              'table pg_catalog.' || c.relname as object, 'select' as privilege, c.relacl as acl
         from pg_class c
        where c.oid in ('pg_catalog.pg_statistic'::regclass,
                        'pg_catalog.pg_statistic_ext_data'::regclass)
        union all
       select p.oid, 'may call ' || p.proname || ', which reads the files of the server',
              format('function pg_catalog.%I(%s)', p.proname,
                     pg_get_function_identity_arguments(p.oid)),
              'execute', coalesce(p.proacl, acldefault('f', p.proowner))
         from pg_proc p
        where p.pronamespace = 'pg_catalog'::regnamespace
          and p.proname in ('pg_read_file', 'pg_read_binary_file')
     )
     select a as actor, o.what, o.object, o.privilege, array_agg(distinct r.rolname::text) as grantees
       from unnest($1::oid[]) a, objects o
      cross join lateral aclexplode(o.acl) x
       left join pg_roles r on r.oid = x.grantee
      where lower(x.privilege_type collate "C") = o.privilege
        and (x.grantee = 0 or pg_has_role(a, x.grantee, 'USAGE'))
      group by 1, 2, 3, 4 order by 3`,
    [lookers.map(({ role }) => role.oid)],
  );
  return found.map(({ actor, what, object, privilege, grantees }) =>
    findingOf(
      actors,
      lookers.find(({ role }) => role.oid === actor)!,
      what,
      run(revoke(privilege, object, grantees)),
    ),
  );
}

/**
 * Other roles to which the policy of `portal_admin` shows the rows of every tenant, because they
 * inherit that role. (BYPASSRLS is not inherited, and FORCE binds those who inherit an owner.)
 *
 * Those who own the database or the schema need the rights to migrate.
 */
export async function findingsOfMembers(
  read: QueryRows,
  { user, version }: Actors,
  schema: string,
): Promise<IsolationFinding[]> {
  const members = await read<{ name: string; grantor: string }>(
    `select distinct m.rolname::text as name, g.rolname::text as grantor
       from pg_auth_members am
       join pg_roles a on a.oid = am.roleid and a.rolname = '${ADMIN_ROLE}'
       join pg_roles m on m.oid = am.member
       left join pg_roles g on g.oid = am.grantor
      where coalesce((to_jsonb(am) ->> 'inherit_option')::boolean, m.rolinherit)
        and not m.rolsuper and m.oid <> $1
        and not exists (
          select from pg_database d
           where d.datname = current_database() and pg_has_role(m.oid, d.datdba, 'USAGE'))
        and not exists (
          select from pg_namespace n
           where n.nspname = $2 and pg_has_role(m.oid, n.nspowner, 'USAGE'))
      order by 1, 2`,
    [user.oid, schema],
  );
  return members.map(({ name, grantor }) => {
    const member = escapeIdentifier(name);
    return {
      problem:
        `The role ${name} inherits ${ADMIN_ROLE}, whose policy lets it read and write the ` +
        'rows of every tenant',
      remedy: run(
        version < INHERIT_OPTION_SINCE
          ? `revoke ${ADMIN_ROLE} from ${member}`
          : `grant ${ADMIN_ROLE} to ${member} with inherit false granted by ${escapeIdentifier(
              grantor,
            )}`,
      ),
    };
  });
}

/** Settings of the user's sessions that make them begin as another role. */
export async function findingsOfSettings(
  read: QueryRows,
  actors: Actors,
): Promise<IsolationFinding[]> {
  const { user, all } = actors;
  const found = await read<{ setting: string; value: string; of: string }>(
    `select split_part(c, '=', 1) as setting, substr(c, strpos(c, '=') + 1) as value,
            case when s.setrole = 0 then '' else format('role %I', r.rolname) end
              || case when s.setrole <> 0 and s.setdatabase <> 0 then ' in ' else '' end
              || case when s.setdatabase = 0 then '' else format('database %I', d.datname) end as of
       from pg_db_role_setting s
      cross join unnest(s.setconfig) c
       left join pg_roles r on r.oid = s.setrole
       left join pg_database d on d.oid = s.setdatabase
      where s.setrole in (0, $1::oid)
        and s.setdatabase in (0, (select oid from pg_database where datname = current_database()))
        and split_part(c, '=', 1) in ('role', '${TENANT_SETTING}', 'session_replication_role')
        and substr(c, strpos(c, '=') + 1) not in ('', 'none', 'origin', $2)
      order by 1, 3`,
    [user.oid, user.name],
  );
  return found.map(({ setting, value, of }) =>
    findingOf(
      actors,
      all[0],
      {
        role: `acts as ${value} from the start of each session`,
        session_replication_role:
          'fires no trigger in any session, so that no limit holds and no search term is written',
      }[setting] ??
        `has the tenant ${value} set from the start of each session, also where none was named`,
      run(`alter ${of} reset ${setting}`),
    ),
  );
}

/** Objects whose effect PostgreSQL's catalogs do not tell. */
export async function warningsOfUnknown(
  read: QueryRows,
  actors: Actors,
  schema: string,
): Promise<IsolationFinding[]> {
  const lookers = lookersOf(actors).map(({ role }) => role.oid);
  return [
    ...(await warningsOfTriggerFunctions(read, actors, lookers, schema)),
    ...(await warningsOfServers(read, actors, lookers)),
    ...(await warningsOfSchema(read, actors, schema)),
  ];
}

async function warningsOfTriggerFunctions(
  read: QueryRows,
  { user }: Actors,
  lookers: number[],
  schema: string,
): Promise<IsolationFinding[]> {
  const found = await read<{
    routine: string;
    owner: string;
    triggers: string[];
    grantees: Grantee[];
  }>(
    `with functions as (
       select format('%I.%I()', n.nspname, p.proname) as routine, o.rolname::text as owner,
              array(select format('%I on %s', t.tgname, t.tgrelid::regclass)
                      from pg_trigger t
                     where t.tgfoid = p.oid and t.tgparentid = 0 and not t.tgisinternal
                       and t.tgenabled <> 'D' and exists (
                         select from unnest($1::oid[]) r
                          where has_table_privilege(r, t.tgrelid, 'INSERT, UPDATE, DELETE, TRUNCATE')
                             or has_any_column_privilege(r, t.tgrelid, 'INSERT, UPDATE'))
                     order by 1) as triggers,
              array(select distinct g.rolname::text
                      from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) x
                      left join pg_roles g on g.oid = x.grantee
                     where exists (
                       select from unnest($1::oid[]) r
                        where has_schema_privilege(r, n.oid, 'USAGE')
                          and (x.grantee = 0 or pg_has_role(r, x.grantee, 'USAGE')))) as grantees
         from pg_proc p
         join pg_namespace n on n.oid = p.pronamespace
         join pg_roles o on o.oid = p.proowner
        where p.prosecdef and p.prorettype = 'trigger'::regtype and p.oid >= ${FIRST_NORMAL_OID}
          and ${passesPolicies('o')}
          -- The migration's own.
          and not (n.nspname = $2 and o.rolname = '${ADMIN_ROLE}')
          and not exists (
            select from pg_depend d
             where d.classid = 'pg_proc'::regclass and d.objid = p.oid
               and d.refclassid = 'pg_extension'::regclass and d.deptype = 'e')
     )
     select * from functions
      where cardinality(triggers) > 0 or cardinality(grantees) > 0
      order by 1`,
    [lookers, schema],
  );
  return found.map(({ routine, owner, triggers, grantees }) => ({
    problem:
      `What ${routine} gives away can't be judged: it is SECURITY DEFINER, runs as ${owner}, ` +
      `whom no policy binds, and the database user '${user.name}' ` +
      `${
        triggers.length > 0
          ? `fires it (${enumerate(triggers)})`
          : 'may make a trigger of it'
      }`,
    remedy:
      `see that it shows no rows of tenants` +
      `${
        grantees.length > 0
          ? `, and ${run(
              revoke('execute', `function ${routine}`, grantees),
            )}, after which no other trigger can be made of it`
          : ''
      }`,
  }));
}

async function warningsOfServers(
  read: QueryRows,
  { user }: Actors,
  lookers: number[],
): Promise<IsolationFinding[]> {
  const found = await read<{ object: string; grantees: Grantee[] }>(
    `with objects (kind, name, schema, acl, is_usable) as (
       select 'table', format('%I.%I', n.nspname, c.relname), n.oid,
              array_cat(c.relacl, (select array_agg(x) from pg_attribute t, unnest(t.attacl) x
                                    where t.attrelid = c.oid)),
              true
         from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where c.relkind = 'f'
        union all
       select 'foreign server', format('%I', s.srvname), null, s.srvacl,
              exists (select from pg_user_mappings m
                       where m.srvid = s.oid and (m.umuser = 0 or m.umuser = any ($1::oid[])))
         from pg_foreign_server s
        union all
       -- dblink can connect as every user without a password.
       select 'function', format('%I.%I(%s)', n.nspname, p.proname,
                                 pg_get_function_identity_arguments(p.oid)),
              n.oid, coalesce(p.proacl, acldefault('f', p.proowner)), true
         from pg_proc p join pg_namespace n on n.oid = p.pronamespace
        where p.proname = 'dblink_connect_u'
     )
     select o.kind || ' ' || o.name as object,
            array_agg(distinct g.rolname::text) as grantees
       from objects o cross join lateral aclexplode(o.acl) x
       left join pg_roles g on g.oid = x.grantee
      where o.is_usable and exists (
        select from unnest($1::oid[]) r
         where (x.grantee = 0 or pg_has_role(r, x.grantee, 'USAGE'))
           and (o.schema is null or has_schema_privilege(r, o.schema, 'USAGE')))
      group by 1 order by 1`,
    [lookers],
  );
  return found.map(({ object, grantees }) => ({
    problem:
      `Where the ${object} leads can't be judged, and the database user ` +
      `'${user.name}' may use it`,
    remedy:
      'see that it does not lead back to the tables of tenants, or ' +
      `${run(revoke('all', object, grantees))}`,
  }));
}

async function warningsOfSchema(
  read: QueryRows,
  { user }: Actors,
  schema: string,
): Promise<IsolationFinding[]> {
  const [found] = await read<{ grantees: Grantee[] }>(
    `select array(select distinct g.rolname::text
                    from aclexplode(n.nspacl) x left join pg_roles g on g.oid = x.grantee
                   where x.privilege_type = 'CREATE'
                     and (x.grantee = 0 or x.grantee <> n.nspowner
                          and g.rolname <> '${ADMIN_ROLE}'
                          and pg_has_role($2::oid, x.grantee, 'USAGE'))) as grantees
       from pg_namespace n where n.nspname = $1`,
    [schema, user.oid],
  );
  const name = escapeIdentifier(schema);
  return found && found.grantees.length > 0
    ? [
        {
          problem:
            `The database user '${user.name}' may create functions in schema "${schema}", ` +
            'which statements about tenants would call in place of those of PostgreSQL, ' +
            `with all rights of the role that runs them`,
          remedy: run(revoke('create', `schema ${name}`, found.grantees)),
        },
      ]
    : [];
}
