-- Lists which parts of the tables of tenants Citus takes as they are, by the rules in
-- sharding.md, which names their sources. It reads only the catalogs of PostgreSQL, and
-- needs no Citus. On any migrated database:
--
--   psql -X "$MIGRATION_DATABASE_URL" -f docs/contributors/sharding.sql
--
-- The tables are looked for in the schema "tenancy", or in that of -v schema=<name>.

\set QUIET on
\pset pager off
\if :{?schema}
\else
  \set schema tenancy
\endif

with tenant_table as (
  select c.oid, c.relname as name, c.relkind, a.attnum as tenant
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace and n.nspname = :'schema'
    join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id'
   where c.relname in ('entities', 'relations', 'refresh_state', 'entity_search', 'entity_parents')
), stored as (
  -- The tables themselves, and their partitions, which are what has rows.
  select oid from tenant_table where relkind = 'r'
  union all
  select relid from tenant_table, pg_partition_tree(oid) where isleaf
), finding as (
  -- Unique indexes have to contain the distribution column.
  select 1 as place, 'unique index' as what, t.name as relation,
         regexp_replace(pg_get_indexdef(i.indexrelid), '^.* USING ', '') as definition,
         t.tenant = any ((i.indkey::int2[])[0:i.indnkeyatts - 1]) as taken
    from tenant_table t join pg_index i on i.indrelid = t.oid and i.indisunique
  union all
  -- Foreign keys have to lead to a reference table, or to hold the distribution column
  -- in the same place on both sides; and may set no part of it.
  select 2, 'foreign key', t.name,
         regexp_replace(pg_get_constraintdef(k.oid), 'FOREIGN KEY |REFERENCES ', '', 'g'),
         t.tenant = any (k.conkey)
           and (r.oid is null or array_position(k.conkey, t.tenant) = array_position(k.confkey, r.tenant))
           and (r.oid is not null or k.confrelid = to_regclass(quote_ident(:'schema') || '.tenants'))
           and k.confdeltype in ('a', 'r', 'c') and k.confupdtype in ('a', 'r')
    from tenant_table t
    join pg_constraint k on k.conrelid = t.oid and k.contype = 'f' and k.conparentid = 0
    left join tenant_table r on r.oid = k.confrelid
  union all
  -- Tables that are not distributed may not reference one that is.
  select 3, 'foreign key to it', t.name,
         k.conrelid::regclass || ': ' || pg_get_constraintdef(k.oid), false
    from tenant_table t
    join pg_constraint k on k.confrelid = t.oid and k.contype = 'f' and k.conparentid = 0
   where k.conrelid not in (select oid from tenant_table union all select oid from stored)
  union all
  -- Policies may have no subquery. Functions in what writes may not be VOLATILE.
  select 4, 'policy', t.name,
         p.polname || coalesce(', calls ' || (
           select string_agg(distinct f.oid::regprocedure || case f.provolatile when 'v' then ' volatile' else ' stable' end, ', ')
             from pg_depend d join pg_proc f on f.oid = d.refobjid
            where d.classid = 'pg_policy'::regclass and d.objid = p.oid
              and d.refclassid = 'pg_proc'::regclass and f.provolatile <> 'i'), ''),
         pg_get_expr(p.polqual, p.polrelid) !~* '\yselect\y'
           and pg_get_expr(p.polwithcheck, p.polrelid) !~* '\yselect\y'
           and not exists (
             select from pg_depend d join pg_proc f on f.oid = d.refobjid
              where d.classid = 'pg_policy'::regclass and d.objid = p.oid
                and d.refclassid = 'pg_proc'::regclass and f.provolatile = 'v')
    from tenant_table t join pg_policy p on p.polrelid = t.oid
  union all
  -- Triggers are refused, unless citus.enable_unsafe_triggers is on.
  select 5, 'trigger', t.name,
         regexp_replace(pg_get_triggerdef(g.oid), '^CREATE TRIGGER (.*) ON .*( FOR EACH [A-Z]+).*$', '\1\2'), false
    from tenant_table t join pg_trigger g on g.tgrelid = t.oid and not g.tgisinternal
  union all
  -- Partitions of one level are taken; each of them becomes as many shards as its table.
  select 6, 'partitions', t.name,
         (select count(*) - 1 from pg_partition_tree(t.oid)) || ', ' || pg_get_partkeydef(t.oid),
         (select max(level) from pg_partition_tree(t.oid)) <= 1
    from tenant_table t where t.relkind = 'p'
  union all
  -- Numbers that each node gives out by itself have to be bigint.
  select 7, 'sequence', t.name, a.attname || ' ' || format_type(a.atttypid, null),
         a.atttypid = 'int8'::regtype
    from tenant_table t join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
    left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
   where a.attidentity <> '' or pg_get_expr(d.adbin, d.adrelid) like 'nextval(%'
  union all
  -- Shards that are moved while they are written to need a replica identity.
  select 8, 'replica identity', c.relname,
         case when c.relreplident = 'd' then 'primary key' when c.relreplident = 'i' then 'an index'
              when c.relreplident = 'f' then 'full' else 'none' end,
         c.relreplident in ('f', 'i') or c.relreplident = 'd' and exists (
           select from pg_index i where i.indrelid = c.oid and i.indisprimary)
    from stored s join pg_class c using (oid)
  union all
  -- The registry as a reference table: it may be unique on whatever it likes.
  select 9, 'registry', 'tenants', pg_get_constraintdef(k.oid), true
    from pg_constraint k
   where k.conrelid = to_regclass(quote_ident(:'schema') || '.tenants') and k.contype in ('p', 'u')
  union all
  -- A node connects to another as the role that the session acts as.
  select 10, 'role', rolname, case when rolcanlogin then 'may log in' else 'may not log in' end, rolcanlogin
    from pg_roles where rolname in ('portal_app', 'portal_admin')
)
select what, relation, definition, case when taken then 'yes' else 'no' end as "taken as it is"
  from finding order by place, relation, definition;
