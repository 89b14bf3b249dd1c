import type {
  TestDatabaseId,
  TestDatabases,
} from '@internal/postgres/testUtils';
import { EngineDatabase } from './EngineDatabase';

const QUERIES: Record<string, string> = {
  columns: `select to_jsonb(c) - '{table_catalog,table_schema,udt_catalog,udt_schema,ordinal_position,dtd_identifier}'::text[]
              || jsonb_build_object('position', row_number() over (partition by table_name order by ordinal_position))
              from information_schema.columns c where table_schema = $1`,
  attributes: `select jsonb_build_object('of', c.relname, 'name', a.attname, 'type', format_type(a.atttypid, a.atttypmod),
                 'not null', a.attnotnull, 'options', a.attoptions, 'statistics', nullif(a.attstattarget, -1),
                 'storage', a.attstorage, 'compression', a.attcompression, 'identity', a.attidentity,
                 'generated', a.attgenerated, 'collation', a.attcollation)
                 from pg_attribute a join pg_class c on c.oid = a.attrelid
                where c.relnamespace = (select oid from pg_namespace where nspname = $1) and a.attnum > 0 and not a.attisdropped and c.relkind <> 'S'`,
  relations: `select (to_jsonb(c) || jsonb_build_object('owner', relowner::regrole, 'toast', (
                  select reloptions from pg_class t where t.oid = c.reltoastrelid), 'acl', (
                  select jsonb_agg(a) from aclexplode(coalesce(relacl, acldefault(
                    case relkind when 'S' then 's' else 'r' end::"char", relowner))) a where relkind in ('r', 'v', 'S')
                   and grantee is distinct from (select oid from pg_roles where rolname = 'portal_admin'))))
                - '{oid,relnamespace,reltype,reloftype,relowner,relfilenode,reltoastrelid,relpages,reltuples,relallvisible,relallfrozen,relfrozenxid,relminmxid,relacl,relnatts,relhasindex,relhastriggers}'::text[]
                from pg_class c where relnamespace = (select oid from pg_namespace where nspname = $1)
                  and relname <> 'tenancy_adoption_quota'`,
  functions: `select jsonb_build_object('definition', regexp_replace(pg_get_functiondef(f.oid), ' SET search_path TO [^\n]*', ''),
                'finds its own schema', array(select starts_with(s, 'search_path=') and trim('"' from substr(s, 13)) = replace(n.nspname, '"', '""')
                  from unnest(f.proconfig) s),
                'definer', f.prosecdef)
                from pg_proc f join pg_namespace n on n.oid = f.pronamespace where n.nspname = $1`,
  triggers: `select jsonb_build_object('definition', pg_get_triggerdef(t.oid), 'enabled', t.tgenabled) from pg_trigger t join pg_class c on c.oid = t.tgrelid
              where relnamespace = (select oid from pg_namespace where nspname = $1) and not tgisinternal
                and tgname !~ '^tenancy_adoption'`,
  indexes: `select jsonb_build_object('index', x.relname, 'table', t.relname, 'definition', pg_get_indexdef(x.oid), 'valid', i.indisvalid,
              'unique', i.indisunique, 'primary', i.indisprimary, 'options', x.reloptions)
              from pg_index i join pg_class x on x.oid = i.indexrelid join pg_class t on t.oid = i.indrelid
             where x.relnamespace = (select oid from pg_namespace where nspname = $1)`,
  constraints: `select jsonb_build_object('name', conname, 'type', contype, 'definition', pg_get_constraintdef(oid), 'validated', convalidated,
                  'deferrable', condeferrable, 'deferred', condeferred, 'table', conrelid::regclass::text)
                  from pg_constraint where connamespace = (select oid from pg_namespace where nspname = $1)`,
  statistics: `select jsonb_build_object('definition', pg_get_statisticsobjdef(oid), 'target', nullif(stxstattarget, -1))
                 from pg_statistic_ext where stxnamespace = (select oid from pg_namespace where nspname = $1)`,
  sequences: `select to_jsonb(s) - '{schemaname}'::text[] from pg_sequences s where schemaname = $1
                and sequencename <> 'tenancy_adoption_quota'`,
  ownedSequences: `select jsonb_build_object('column', a.attrelid::regclass || '.' || attname,
                     'sequence', pg_get_serial_sequence(a.attrelid::regclass::text, attname))
                     from pg_attribute a join pg_class c on c.oid = a.attrelid
                    where relnamespace = (select oid from pg_namespace where nspname = $1) and relkind = 'r' and attnum > 0 and not attisdropped`,
  views: `select to_jsonb(v) - 'schemaname' from pg_views v where schemaname = $1`,
  comments: `select jsonb_build_object('object', pg_describe_object(classoid, objoid, objsubid), 'comment', description)
               from pg_description
              where (classoid, objoid) in (
                select 'pg_class'::regclass::oid, oid from pg_class where relnamespace = (select oid from pg_namespace where nspname = $1)
                union all select 'pg_proc'::regclass, oid from pg_proc where pronamespace = (select oid from pg_namespace where nspname = $1)
                union all select 'pg_trigger'::regclass, t.oid from pg_trigger t join pg_class c on c.oid = t.tgrelid
                  where c.relnamespace = (select oid from pg_namespace where nspname = $1)
                union all select 'pg_constraint'::regclass, oid from pg_constraint where connamespace = (select oid from pg_namespace where nspname = $1)
                union all select 'pg_statistic_ext'::regclass, oid from pg_statistic_ext where stxnamespace = (select oid from pg_namespace where nspname = $1))`,
};

/**
 * Everything that a schema consists of, without the name of the schema, the oids, and what
 * the adoption adds to a tenant's.
 */
export async function inventory(
  database: Pick<EngineDatabase, 'use'>,
  schema: string,
): Promise<Record<string, unknown[]>> {
  return database.use(async client => {
    const quoted = client.escapeIdentifier(schema);
    await client.query(`set search_path = ${quoted}`);
    // As definitions spell it, within the text of JSON.
    const prefixes = [`${schema}.`, `${JSON.stringify(quoted).slice(1, -1)}.`];
    const found: Record<string, unknown[]> = {};
    const put = (what: string, rows: object[]) => {
      found[what] = rows
        .map(row =>
          prefixes.reduce(
            (text, prefix) => text.replaceAll(prefix, ''),
            JSON.stringify(row),
          ),
        )
        .sort();
    };
    for (const [what, query] of Object.entries(QUERIES)) {
      put(what, (await client.query(query, [schema])).rows);
    }
    const { rows: tables } = await client.query<{ name: string }>(
      `select relname as name from pg_class
        where relnamespace = (select oid from pg_namespace where nspname = $1) and relkind in ('r', 'v')`,
      [schema],
    );
    for (const { name } of tables) {
      const { rows } = await client.query(
        `select to_jsonb(t) - 'migration_time' as row from "${name}" t`,
      );
      put(`rows of ${name}`, rows);
    }
    return found;
  });
}

/** Has the columns in the order of their creation, which is not that of a new schema. */
export async function structure(
  database: Pick<EngineDatabase, 'use'>,
  schema: string,
) {
  const {
    'rows of knex_migrations': _migrations,
    'rows of locations': _locations,
    'rows of search': _search,
    'rows of final_entities': _final,
    sequences: _sequences,
    ...rest
  } = await inventory(database, schema);
  return rest;
}

/** How many there are of each kind, so that no comparison is one of nothing. */
export function sizes(
  found: Record<string, unknown[]>,
): Record<string, number> {
  return Object.fromEntries(
    Object.entries(found).map(([what, rows]) => [what, rows.length]),
  );
}

/** What upstream makes in a database of its own, {@link withoutIds}. */
export async function upstreamInventory(
  databases: TestDatabases,
  id: TestDatabaseId,
): Promise<Record<string, unknown[]>> {
  const alone = await EngineDatabase.create(databases, id);
  await alone.migrateStock('direct');
  return withoutIds(await inventory(alone, 'direct'));
}

/** The row that upstream's migrations insert has a random id. */
export function withoutIds(
  found: Record<string, unknown[]>,
): Record<string, unknown[]> {
  const uuid = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
  return JSON.parse(JSON.stringify(found).replace(uuid, 'uuid'));
}
