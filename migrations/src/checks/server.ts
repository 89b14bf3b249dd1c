import { operatorCommand } from '../operatorCommand';
import { REQUIRED_EXTENSIONS } from '../schema/lookups';
import { RETENTION_HOURS } from '../schema/tables';
import { STARTING_ROLE } from '../session/ownerRole';
import { escapeLiteral } from '../sql';
import type { Rule } from './Rule';

/** The version of the server, as in 140005. */
const VERSION = `current_setting('server_version_num')::int`;

/** Texts of catalogs are lower-cased, which takes an encoding. */
export const encoding: Rule = {
  name: 'encoding',
  level: 'failure',
  message: 'PostgreSQL does not know letters in the encoding of the database',
  advice: 'Dump it, and restore it into a database with the encoding UTF8.',
  sql: `
    select 'SQL_ASCII' as name, null as fix
     where current_setting('server_encoding') = 'SQL_ASCII'`,
};

/** They are there, or the login may create them. */
export const extensions: Rule = {
  name: 'extensions',
  level: 'failure',
  message: 'Extensions are missing',
  advice:
    'Install the additional modules of the server (postgresql-contrib), or let a superuser run this in the database.',
  sql: `
    select x.name || case when v.name is null then ', not available on the server'
                          else ', which the login may not create' end as name,
           case when v.name is not null then format('create extension %I', x.name) end as fix
      from unnest(array[${REQUIRED_EXTENSIONS.map(escapeLiteral).join(
        ', ',
      )}]) x (name)
      join pg_roles l on l.rolname = current_user
      left join pg_available_extensions a on a.name = x.name
      left join pg_available_extension_versions v on v.name = a.name and v.version = a.default_version
     where not exists (select from pg_extension e where e.extname = x.name)
       and (v.name is null or not (l.rolsuper or (v.trusted or not v.superuser)
                                     and has_database_privilege(current_database(), 'create')))`,
};

/**
 * The server takes writes. The session of a command does not override
 * default_transaction_read_only: operators, and providers whose disk is filling up, set it to
 * stop writes.
 */
export const writable: Rule = {
  name: 'writable',
  level: 'failure',
  message: 'The server takes no writes',
  advice:
    'Connect to the primary server, or turn the setting off where it was set.',
  sql: `
  select 'it is a standby' as name, null as fix where pg_is_in_recovery()
   union all
  select 'default_transaction_read_only is on',
         case source when 'database' then format('alter database %I', current_database())
                     when 'user' then format('alter role %I', session_user)
                     when 'database user' then format('alter role %I in database %I', session_user, current_database())
                     when 'global' then 'alter role all'
                     when 'configuration file' then 'alter system' end || ' reset default_transaction_read_only'
           || case source when 'configuration file' then '; select pg_reload_conf()' else '' end
    from pg_settings where name = 'default_transaction_read_only' and setting = 'on' and not pg_is_in_recovery()`,
};

/** What the migration needs of the server, the database and the login. */
export const SERVER_RULES: readonly Rule[] = [
  {
    name: 'server version',
    level: 'failure',
    message: 'The server is too old',
    advice: 'Upgrade it: PostgreSQL 14 or later is needed.',
    sql: `
    select 'PostgreSQL ' || current_setting('server_version') as name, null as fix
     where ${VERSION} < 140000`,
  },
  writable,
  encoding,
  extensions,
  {
    // The specification lists it, and nothing of this product uses it.
    name: 'pg_cron',
    level: 'warning',
    message: 'pg_cron is missing',
    advice: `Nothing needs it: the application purges deleted entities, and you run "${operatorCommand(
      'cleanup',
    )}" ${RETENTION_HOURS} hours after the swap.`,
    sql: `
    select 'it is not created in this database' as name,
           (select format('create extension %I', a.name) from pg_available_extensions a
             where a.name = 'pg_cron') as fix
     where not exists (select from pg_extension where extname = 'pg_cron')`,
  },
  {
    name: 'privileges',
    level: 'failure',
    message: 'The login lacks rights',
    advice:
      'Connect as the owner of the tables, or let a superuser run this, so that the login inherits its rights.',
    // Membership in a superuser would make the login one.
    sql: `
    select format('those of %s, the owner of %s', r.rolname, o.name) as name,
           case when r.rolsuper then format('alter table %s owner to %I', o.sql, ${STARTING_ROLE})
                when ${VERSION} >= 160000
                then format('grant %I to %I with inherit true', r.rolname, ${STARTING_ROLE})
                else format('grant %1$I to %2$I; alter role %2$I inherit', r.rolname, ${STARTING_ROLE}) end as fix
      from ours o join pg_roles r on r.oid = o.owner
     where not pg_has_role(current_user, o.owner, 'USAGE')
     union all
    select case when n.oid is null then 'CREATE on the database'
                else 'USAGE and CREATE on the schema ' || n.nspname end,
           format(case when n.oid is null then 'create schema %I authorization %I'
                       else 'grant usage, create on schema %I to %I' end, $1, ${STARTING_ROLE})
      from (values ($1)) wanted (name) left join pg_namespace n on n.nspname = wanted.name
     where not case when n.oid is null then has_database_privilege(current_database(), 'create')
                    else has_schema_privilege(n.oid, 'usage') and has_schema_privilege(n.oid, 'create') end`,
  },
];
