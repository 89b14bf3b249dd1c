import { RETENTION_HOURS } from '../cleanup/cleanup';
import { operatorCommand } from '../operatorCommand';
import { REQUIRED_EXTENSIONS } from '../schema/lookups';
import { escapeLiteral } from '../sql';
import type { Rule } from './Rule';

/** The version of the server, as in 140005. */
const VERSION = `current_setting('server_version_num')::int`;

/** Vulnerabilities that show rows past row-level security, and the minors that fix them. */
const LEAKS = `(values
  ('CVE-2025-8713', 14, 19), ('CVE-2025-8713', 15, 14), ('CVE-2025-8713', 16, 10), ('CVE-2025-8713', 17, 6),
  ('CVE-2024-10976', 14, 14), ('CVE-2024-10976', 15, 9), ('CVE-2024-10976', 16, 5), ('CVE-2024-10976', 17, 1))`;

/** Phase 5 opens them beside its own: one fills entity_terms, one watches the sessions that wait. */
const FURTHER_CONNECTIONS = 2;

/** What the migration needs of the server, the database and the login. */
export const SERVER_RULES: readonly Rule[] = [
  {
    name: 'server version',
    level: 'failure',
    message: 'The server is too old',
    advice: 'Upgrade it: PostgreSQL 14 or later is needed.',
    fine: 'The server is PostgreSQL 14 or later.',
    sql: `
    select 'PostgreSQL ' || current_setting('server_version') as name, null as fix, null as again
     where ${VERSION} < 140000`,
  },
  {
    name: 'server updates',
    level: 'warning',
    message: 'The server can show rows past row-level security',
    advice: 'Update the server to the latest minor version.',
    fine: 'No vulnerability of the server is known that shows rows past row-level security.',
    sql: `
    select format('%s, fixed in %s.%s', cve, major, minor) as name, null as fix, null as again
      from ${LEAKS} leak (cve, major, minor)
     where ${VERSION} / 10000 = major and ${VERSION} % 10000 < minor`,
  },
  {
    name: 'connection limits',
    level: 'failure',
    message: `Phase 5 opens ${FURTHER_CONNECTIONS} more connections, for which there is no room`,
    advice: 'Let somebody who may run this, or close connections.',
    fine: 'There is room for the further connections of phase 5.',
    // Every login may count all sessions. None of the limits binds a superuser.
    sql: `, sessions as (
      select usename, datname from pg_stat_activity
       where usesysid is not null and coalesce(backend_type, 'client backend') = 'client backend'
    ), limits (what, most, used, fix) as (
      select 'the role ' || rolname, rolconnlimit,
             (select count(*) from sessions where usename = rolname),
             format('alter role %I connection limit ', rolname)
        from pg_roles where rolname = session_user and rolconnlimit >= 0
       union all
      select 'the database ' || datname, datconnlimit,
             (select count(*) from sessions s where s.datname = d.datname),
             format('alter database %I connection limit ', datname)
        from pg_database d where datname = current_database() and datconnlimit >= 0
       union all
      select 'the server', current_setting('max_connections')::int
                             - current_setting('superuser_reserved_connections')::int,
             (select count(*) from sessions), null)
    select format('%s has %s of %s', what, used, most) as name,
           fix || (used + ${FURTHER_CONNECTIONS}) as fix, null as again
      from limits
     where most - used < ${FURTHER_CONNECTIONS}
       and not (select rolsuper from pg_roles where rolname = session_user)`,
  },
  {
    name: 'writable',
    level: 'failure',
    message: 'The server takes no writes',
    advice:
      'Connect to the primary server, or turn the setting off where it was set.',
    fine: 'The server takes writes.',
    // Not transaction_read_only, which a dry run sets itself.
    sql: `
    select 'it is a standby' as name, null as fix, null as again where pg_is_in_recovery()
     union all
    select 'default_transaction_read_only is on',
           format('alter database %I reset default_transaction_read_only; alter role %I reset default_transaction_read_only',
                  current_database(), session_user), null
     where not pg_is_in_recovery() and current_setting('default_transaction_read_only')::boolean`,
  },
  {
    name: 'event triggers',
    level: 'warning',
    message: 'Event triggers run at what the phases create',
    advice:
      'See that they leave the tables of tenants alone, or let a superuser run this until phase 5 is done.',
    fine: 'No event trigger runs at what the phases create.',
    // Those of extensions look after what is theirs.
    sql: `
    select format('%s (%s)', e.evtname, e.evtevent) as name,
           format('alter event trigger %I disable', e.evtname) as fix, null as again
      from pg_event_trigger e
     where e.evtenabled in ('O', 'A') and e.evtevent <> 'login'
       and not exists (select from pg_depend d
                        where d.classid = 'pg_event_trigger'::regclass and d.objid = e.oid and d.deptype = 'e')
     order by 1`,
  },
  {
    name: 'extensions',
    level: 'failure',
    message: 'Extensions are missing',
    advice:
      'Install the additional modules of the server (postgresql-contrib), or let a superuser run this in the database.',
    fine: `${REQUIRED_EXTENSIONS.join(
      ' and ',
    )} are installed, or phase 1 creates them.`,
    sql: `
    select x.name || case when v.name is null then ', not available on the server'
                          else ', which the login may not create' end as name,
           case when v.name is not null then format('create extension %I', x.name) end as fix,
           null as again
      from unnest(array[${REQUIRED_EXTENSIONS.map(escapeLiteral).join(
        ', ',
      )}]) x (name)
      join pg_roles l on l.rolname = current_user
      left join pg_available_extensions a on a.name = x.name
      left join pg_available_extension_versions v on v.name = a.name and v.version = a.default_version
     where not exists (select from pg_extension e where e.extname = x.name)
       and (v.name is null or not (l.rolsuper or (v.trusted or not v.superuser)
                                     and has_database_privilege(current_database(), 'create')))`,
  },
  {
    // `--allow-missing` makes it a warning.
    name: 'pg_cron',
    level: 'failure',
    message: 'pg_cron can run no jobs',
    advice:
      'Put it right, or give --allow-missing pg_cron: the application purges deleted entities then, ' +
      `and you run "${operatorCommand(
        'cleanup',
      )}" ${RETENTION_HOURS} hours after the swap.`,
    fine: 'pg_cron is installed in this database.',
    // From pg_settings, which leaves out hidden settings.
    sql: `, cron as (
      select exists (select from pg_extension where extname = 'pg_cron') as installed,
             exists (select from pg_available_extensions where name = 'pg_cron') as available,
             coalesce((select setting !~ '(^|[, "/])pg_cron' from pg_settings
                        where name = 'shared_preload_libraries'), false) as unloaded,
             (select setting from pg_settings
               where name = 'cron.database_name' and setting <> current_database()) as elsewhere
    ), found (name, fix) as (
      select case when not available then 'it is not available on the server'
                  when unloaded then 'the server has not loaded it (shared_preload_libraries)'
                  when not installed and elsewhere is not null
                  then format('its jobs are those of the database %s (cron.database_name)', elsewhere)
                  when not installed then 'it is not created in this database'
                  when not has_schema_privilege(session_user, 'cron', 'usage') then 'the login may not use it' end,
             case when available and not installed then 'create extension pg_cron'
                  when installed then format('grant usage on schema cron to %I', session_user) end
        from cron)
    select name, fix, null as again from found where name is not null`,
  },
  {
    name: 'privileges',
    level: 'failure',
    message: 'The login lacks rights',
    advice:
      'Connect as the owner of the tables, or let a superuser run this, so that the login inherits its rights.',
    fine: 'The login has the rights of the owner of the tables.',
    // Membership in a superuser would make the login one.
    sql: `
    select format('those of %s, the owner of %s', r.rolname, o.name) as name,
           case when r.rolsuper then format('alter table %s owner to %I', o.sql, session_user)
                when ${VERSION} >= 160000
                then format('grant %I to %I with inherit true', r.rolname, session_user)
                else format('grant %1$I to %2$I; alter role %2$I inherit', r.rolname, session_user) end as fix,
           null as again
      from ours o join pg_roles r on r.oid = o.owner
     where not pg_has_role(current_user, o.owner, 'USAGE')
     union all
    select case when n.oid is null then 'CREATE on the database'
                else 'USAGE and CREATE on the schema ' || n.nspname end,
           format(case when n.oid is null then 'create schema %I authorization %I'
                       else 'grant usage, create on schema %I to %I' end, $1, session_user), null
      from (values ($1)) wanted (name) left join pg_namespace n on n.nspname = wanted.name
     where not case when n.oid is null then has_database_privilege(current_database(), 'create')
                    else has_schema_privilege(n.oid, 'usage') and has_schema_privilege(n.oid, 'create') end`,
  },
  {
    name: 'long transactions',
    level: 'warning',
    message:
      'Transactions are open which locks, builds of indexes or VACUUM wait for',
    advice:
      'Wait for them, or end what has been forgotten (COMMIT PREPARED, ROLLBACK PREPARED).',
    fine: 'No long transaction is open in this database.',
    // Without the texts of queries, which may hold secrets.
    sql: `
    select format('process %s of %s ("%s", %s, %s s)', pid, coalesce(usename, 'the server'),
                  application_name, coalesce(state, backend_type),
                  extract(epoch from clock_timestamp() - xact_start)::int) as name,
           null as fix, null as again
      from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid()
       and xact_start < clock_timestamp() - interval '60 s'
     union all
    select format('the prepared transaction "%s" of %s (since %s)', gid, owner, prepared::timestamptz(0)),
           null, null
      from pg_prepared_xacts where database = current_database()
     union all
    select format('the replication slot %s (%s transactions)', slot_name, age(xmin)), null, null
      from pg_replication_slots where xmin is not null`,
  },
  {
    name: 'autovacuum',
    level: 'warning',
    message:
      'Autovacuum does not come, so that reads get slower with each write',
    advice: 'Turn it on. No read and no write waits for that.',
    fine: 'Autovacuum is on.',
    sql: `
    select name || ' is off on the server' as name,
           format('alter system set %s = on; select pg_reload_conf()', name) as fix, null as again
      from pg_settings where name in ('autovacuum', 'track_counts') and setting = 'off'
     union all
    select format('it is off for %s', c.oid::regclass),
           format('alter table %I.%I reset (autovacuum_enabled)', n.nspname, c.relname), null
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
     cross join pg_options_to_table(c.reloptions) o
     where n.nspname = $1 and c.relkind = 'r' and o.option_name = 'autovacuum_enabled'
       and case when o.option_name = 'autovacuum_enabled' then not o.option_value::boolean end`,
  },
  {
    name: 'replication slots',
    level: 'warning',
    message: 'Replication slots get more than they expect, or are not read',
    advice:
      'Let their readers name the tables that they want, and start those that do not run.',
    fine: 'No slot of this database is read without a publication, or not at all.',
    // Without a publication, a slot decodes every table of the database.
    sql: `
    select format('%s (%s) decodes the tables of every tenant', slot_name, plugin) as name,
           null as fix, null as again
      from pg_replication_slots
     where slot_type = 'logical' and database = current_database() and not temporary
       and plugin <> 'pgoutput'
     union all
    select format('%s is not read: the server keeps its log', slot_name),
           format('select pg_drop_replication_slot(%L)', slot_name), null
      from pg_replication_slots
     where slot_type = 'logical' and database = current_database() and not temporary
       and not active`,
  },
  {
    name: 'standbys',
    level: 'warning',
    message:
      'A query at a standby that meets a lock of a phase delays others by 30 s',
    advice:
      "Set max_standby_streaming_delay = '1s' at each standby until phase 5 is done, or send reads to this server meanwhile.",
    fine: 'No standby follows the server by streaming replication or a slot.',
    sql: `
    select coalesce(nullif(r.application_name, ''), 'process ' || r.pid) as name,
           null as fix, null as again
      from pg_stat_replication r
     where r.state is distinct from 'backup' and not exists (
       select from pg_replication_slots s where s.active_pid = r.pid and s.slot_type = 'logical')
     union all
    select 'slot ' || slot_name, null, null from pg_replication_slots
     where slot_type = 'physical' and not active
     order by 1`,
  },
];
