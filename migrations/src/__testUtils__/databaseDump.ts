import type { Client } from 'pg';
import { catalogSnapshot } from './catalogSnapshot';
import type { CatalogSnapshot } from './catalogSnapshot';

// Beside the catalog snapshot, what pg_dump writes of a schema. Everything by name, since
// object ids differ from one database to the next.

const IN_SCHEMA = `relnamespace = 'tenancy'::regnamespace
  and c.relname not like 'tenancy\\_migration%'`;

/** What a comment, a label or the like is about, in words. */
const OBJECT = 'pg_describe_object(classoid, objoid, objsubid)';

const QUERIES: Record<string, string> = {
  comments: `
    select ${OBJECT} as object, description from pg_description
     where ${OBJECT} ~ '' and (
       classoid = 'pg_class'::regclass
         and objoid in (select oid from pg_class c where ${IN_SCHEMA})
       or classoid = 'pg_constraint'::regclass
         and objoid in (select k.oid from pg_constraint k join pg_class c on c.oid = conrelid
                         where ${IN_SCHEMA})
       or classoid = 'pg_trigger'::regclass
         and objoid in (select t.oid from pg_trigger t join pg_class c on c.oid = tgrelid
                         where ${IN_SCHEMA})
       or classoid = 'pg_policy'::regclass
         and objoid in (select p.oid from pg_policy p join pg_class c on c.oid = polrelid
                         where ${IN_SCHEMA})
       or classoid = 'pg_proc'::regclass
         and objoid in (select oid from pg_proc where pronamespace = 'tenancy'::regnamespace))
     order by 1`,
  columns: `
    select c.relname as table, attname as column, attidentity as identity,
           attgenerated as generated, attstorage as storage,
           nullif(attcompression, '') as compression, attoptions as options,
           nullif(attstattarget, -1) as target, attcollation::regcollation::text as collation,
           attislocal as local
      from pg_attribute a join pg_class c on c.oid = a.attrelid
     where ${IN_SCHEMA} and relkind in ('r', 'p', 'v', 'm') and attnum > 0
       and not attisdropped order by 1, 2`,
  tables: `
    select c.relname as table, c.relpersistence as persistence, c.relreplident as identity,
           pg_get_expr(c.relpartbound, c.oid) as bound, pg_get_partkeydef(c.oid) as key,
           c.relhasrules as rules, c.reloftype::regtype::text as type, t.reloptions as toast,
           (select spcname from pg_tablespace where oid = c.reltablespace) as tablespace,
           (select amname from pg_am where oid = c.relam) as method,
           array(select inhparent::regclass::text from pg_inherits
                  where inhrelid = c.oid order by inhseqno) as parents
      from pg_class c left join pg_class t on t.oid = c.reltoastrelid
     where c.${IN_SCHEMA} and c.relkind in ('r', 'p', 'v', 'm') order by 1`,
  constraints: `
    select c.relname as table, conname as name, conislocal as local, connoinherit as "noInherit"
      from pg_constraint k join pg_class c on c.oid = k.conrelid
     where ${IN_SCHEMA} order by 1, 2`,
  indexes: `
    select c.relname as name, indisclustered as clustered, indisreplident as identity,
           indnullsnotdistinct as "nullsNotDistinct",
           array(select attstattarget from pg_attribute where attrelid = c.oid
                  order by attnum)::text as targets
      from pg_index i join pg_class c on c.oid = i.indexrelid
     where ${IN_SCHEMA} order by 1`,
  triggers: `
    select c.relname as table, tgname as name, tgenabled as enabled
      from pg_trigger t join pg_class c on c.oid = t.tgrelid
     where ${IN_SCHEMA} and not tgisinternal order by 1, 2`,
  rules: `
    select c.relname as table, rulename as name, ev_enabled as enabled,
           pg_get_ruledef(r.oid) as definition
      from pg_rewrite r join pg_class c on c.oid = r.ev_class
     where ${IN_SCHEMA} order by 1, 2`,
  sequences: `
    select sequencename as name, data_type::text as type, start_value as start, min_value as min,
           max_value as max, increment_by as increment, cycle, cache_size as cache,
           last_value as last,
           (select refobjid::regclass || ' ' || a.attname from pg_depend d
              join pg_attribute a on a.attrelid = refobjid and a.attnum = refobjsubid
             where classid = 'pg_class'::regclass and deptype in ('a', 'i')
               and objid = format('%I.%I', schemaname, sequencename)::regclass) as "ownedBy"
      from pg_sequences where schemaname = 'tenancy'
       and sequencename not like 'tenancy\\_migration%' order by 1`,
  statistics: `
    select stxname as name, pg_get_statisticsobjdef(s.oid) as definition, stxstattarget as target,
           pg_get_userbyid(stxowner) as owner
      from pg_statistic_ext s where stxnamespace = 'tenancy'::regnamespace order by 1`,
  types: `
    select typname as name, typtype as type, format_type(typbasetype, typtypmod) as base,
           typnotnull as "notNull", typdefault as default, pg_get_userbyid(typowner) as owner,
           array(select enumlabel from pg_enum where enumtypid = t.oid order by enumsortorder)
             as labels,
           array(select pg_get_constraintdef(oid) from pg_constraint where contypid = t.oid
                  order by conname) as checks
      from pg_type t where typnamespace = 'tenancy'::regnamespace
       and typname not like '%tenancy\\_migration%' order by 1`,
  publications: `
    select pubname as name, puballtables as all, pubviaroot as "viaRoot",
           array(select format('%I.%I', t.schemaname, t.tablename)
                   from pg_publication_tables t where t.pubname = p.pubname
                    and t.tablename not like 'tenancy\\_migration%' order by 1) as tables
      from pg_publication p order by 1`,
  extensions: `
    select extname as name, extnamespace::regnamespace::text as schema from pg_extension order by 1`,
  defaults: `
    select pg_get_userbyid(defaclrole) as role, defaclobjtype as type, defaclacl::text as acl
      from pg_default_acl order by 1, 2`,
};

/** Queries that older versions know by other words. */
const BEFORE_15 = [['indnullsnotdistinct', 'false']] as const;

/**
 * What a dump of the database would have: the catalog of the schema `tenancy`, and the
 * rows of all tables of it but those of the migration itself.
 */
export async function databaseDump(client: Client): Promise<CatalogSnapshot> {
  const [{ version }] = (
    await client.query(
      `select current_setting('server_version_num')::int as version`,
    )
  ).rows;
  // Rows of every tenant.
  await client.query('set row_security = off');
  const dump = await catalogSnapshot(client);
  for (const [name, query] of Object.entries(QUERIES)) {
    const text = BEFORE_15.reduce(
      (sql, [column, before]) =>
        version < 150000 ? sql.replace(column, before) : sql,
      query,
    );
    dump[`more ${name}`] = (await client.query(text)).rows;
  }
  const { rows: tables } = await client.query(
    `select c.relname as name, format('%I.%I', 'tenancy', c.relname) as sql from pg_class c
      where ${IN_SCHEMA} and relkind = 'r' order by 1`,
  );
  for (const { name, sql } of tables) {
    // When a tenant was created, two runs do not agree.
    const row =
      name === 'tenants'
        ? `to_jsonb(whole) - 'created_at' - 'updated_at'`
        : 'to_jsonb(whole)';
    dump[`rows of ${name}`] = (
      await client.query(
        `select (${row})::text as row from ${sql} whole order by 1`,
      )
    ).rows;
  }
  return dump;
}
