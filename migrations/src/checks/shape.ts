import { FENCE_POLICY } from '../copy/fence';
import {
  acceptedConstraints,
  acceptedIndexes,
  comparable,
  LAYOUT,
  requiredColumns,
} from '../layout';
import { ADMIN_POLICY, TENANT_POLICY } from '../schema/policies';
import { ADMIN_ROLE, APP_ROLE } from '../roles';
import { HANGING } from '../schema/dependents';
import { TENANT_TABLES } from '../schema/tables';
import { escapeLiteral } from '../sql';
import { values } from './Rule';
import type { Rule } from './Rule';

// What the three tables may not be or have. The preflight, the phases and the way back read
// these rows, so that whatever a phase refuses is known before phase 1.

const AGAIN_LATER =
  'Drop them, and create them again after phase 5: nothing carries them over.';

/** The definition of an index `i` behind USING, without storage parameters, which do not matter. */
export const INDEX_BODY = `regexp_replace(regexp_replace(
  substring(pg_get_indexdef(i.indexrelid) from ' USING (.*)$'),
  '[^ (]+\\.gin_trgm_ops', 'gin_trgm_ops'), ' WITH \\([^)]*\\)', '')`;

/** The kind of the tables, on which the other rules rely. */
export const storage: Rule = {
  name: 'tables',
  level: 'failure',
  message: 'These are not ordinary tables of their own',
  advice:
    'Phase 5 partitions ordinary tables without inheritance, whose rows outlive a crash.',
  sql: `
    select o.name || ': ' || case o.kind when 'p' then 'a partitioned table' when 'f' then 'a foreign table'
             when 'm' then 'a materialized view' else 'a view' end as name,
           null as fix
      from ours o
     where o.kind <> 'r'
       and not (o.kind = 'p' and $2 and pg_get_partkeydef(o.oid) = 'LIST (tenant_id)')
     union all
    select o.name || ': of a type', format('alter table %s not of', o.sql)
      from ours o join pg_class c on c.oid = o.oid where c.reloftype <> 0
     union all
    select o.name || ': not logged', format('alter table %s set logged', o.sql)
      from ours o join pg_class c on c.oid = o.oid where c.relpersistence <> 'p'
     union all
    select o.name || ': inherits, or is inherited from',
           format('alter table %s no inherit %s', i.inhrelid::regclass, i.inhparent::regclass)
      from ours o join pg_inherits i on o.oid in (i.inhrelid, i.inhparent)
     where o.kind = 'r'`,
};

export const columns: Rule = {
  name: 'columns',
  level: 'failure',
  message: 'Columns are missing, of another type, or under a name of ours',
  advice:
    'Add them with their values, or change them while the application is stopped.',
  sql: `, expected (name, attribute, type, varying) as ${values(
    TENANT_TABLES.flatMap(table =>
      Object.entries(LAYOUT[table].columns).map(([name, { type }]) => [
        table,
        name,
        type,
        type === 'text',
      ]),
    ),
  )}
    select format('%s.%s (%s)', e.name, e.attribute, e.type) as name,
           case when a.attname is null
             then format('alter table %s add column %I %s', o.sql, e.attribute, e.type)
             else format('alter table %s alter column %I type %s using %I::%s', o.sql, e.attribute,
                         e.type, e.attribute, e.type) end as fix
      from ours o join expected e on e.name = o.name
      left join pg_attribute a on a.attrelid = o.oid and a.attname = e.attribute
                              and not a.attisdropped
     where a.attname is null
        or format_type(a.atttypid, null) <> e.type
           and not (e.varying and a.atttypid = 'varchar'::regtype)
     union all
    select format('%s.tenant_id, which the migration did not add', o.name),
           format('alter table %s rename column tenant_id to former_tenant_id', o.sql)
      from ours o join pg_attribute a on a.attrelid = o.oid and a.attname = 'tenant_id'
                                     and not a.attisdropped
     where not $2 or a.atttypid <> 'uuid'::regtype
     order by 1`,
};

const numbered: Rule = {
  name: 'generated values',
  level: 'failure',
  message: 'Columns are generated, are identities or own a sequence',
  advice:
    'Both sides of the swap need the same numbers: let defaults take them from a sequence that no table owns.',
  sql: `
    select format('%s.%s', o.name, a.attname) as name,
           case when a.attgenerated <> '' then format('alter table %s drop column %I', o.sql, a.attname)
                when a.attidentity <> '' then format('begin;
alter table %1$s alter column %2$I drop identity;
create sequence %3$s;
select setval(%4$L, coalesce(max(%2$I), 0) + 1, false) from %1$s;
alter table %1$s alter column %2$I set default nextval(%4$L);
commit', o.sql, a.attname, n.sequence, n.sequence)
                else format('alter sequence %s owned by none', s.objid::regclass) end as fix
      from ours o join pg_attribute a on a.attrelid = o.oid and not a.attisdropped
      left join pg_depend s on s.classid = 'pg_class'::regclass and s.refclassid = s.classid
                           and s.refobjid = o.oid and s.refobjsubid = a.attnum and s.deptype = 'a'
                           and exists (select from pg_class where oid = s.objid and relkind = 'S')
      cross join lateral (select format('%I.%I', $1, o.name || '_' || a.attname || '_numbers') as sequence) n
     where a.attgenerated <> '' or a.attidentity <> '' or s.objid is not null
     order by 1`,
};

const keys: Rule = {
  name: 'keys of entities',
  level: 'failure',
  message: 'Keys of entities are missing',
  advice:
    'entity_id is the primary key, and entity_ref is unique. Look for duplicates first.',
  sql: `
    select k.attribute as name,
           format(case when k.is_primary then 'create unique index concurrently entities_pkey on %1$s (entity_id);
alter table %1$s add primary key using index entities_pkey'
             else 'create unique index concurrently entities_entity_ref_key on %1$s (entity_ref)' end,
             o.sql) as fix
      from ours o cross join (values ('entity_id', true), ('entity_ref', false)) k (attribute, is_primary)
     where o.name = 'entities' and o.kind = 'r' and not exists (
       select from pg_index i
         join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
        where i.indrelid = o.oid and a.attname = k.attribute and i.indisunique and i.indisvalid
          and i.indimmediate and i.indnkeyatts = 1 and i.indpred is null and i.indexprs is null
          and (i.indisprimary or not k.is_primary))`,
};

const indexes: Rule = {
  name: 'indexes',
  level: 'failure',
  message: 'The tables have indexes beyond the layout',
  advice: AGAIN_LATER,
  sql: `, accepted (name, body, is_unique) as ${values(
    TENANT_TABLES.flatMap(table =>
      acceptedIndexes(table).map(({ on, unique }) => [table, on, unique]),
    ),
  )}, found as (
    select o.name as on_table, o.sql, i.*, x.relname, k.conname,
           format('%I.%I', n.nspname, x.relname) as index,
           ${INDEX_BODY} as body
      from ours o join pg_index i on i.indrelid = o.oid
      join pg_class x on x.oid = i.indexrelid join pg_namespace n on n.oid = x.relnamespace
      left join pg_constraint k on k.conindid = i.indexrelid and k.conrelid = o.oid
                               and k.contype in ('p', 'u', 'x'))
    select format('%s (%s)', f.relname, f.on_table) as name,
           case when f.conname is null then format('drop index concurrently %s', f.index)
             else format('alter table %s drop constraint %I', f.sql, f.conname) end as fix
      from found f
     where not f.indimmediate or f.indisexclusion
        or not f.indisvalid and not ($2 and f.body like '%tenant\\_id%')
        or not exists (select from accepted a
                        where a.name = f.on_table and a.body = f.body
                          and (a.is_unique or not f.indisunique))
     order by 1`,
};

// Those of which an equal one may be there: an undo would drop it.
const OUR_CONSTRAINTS = TENANT_TABLES.flatMap(table => [
  `${table}_entity_fkey`,
  ...requiredColumns(table).map(column => `${table}_${column}_present`),
])
  .map(escapeLiteral)
  .join(', ');

const constraints: Rule = {
  name: 'constraints',
  level: 'failure',
  message: 'The tables have constraints beyond the layout',
  advice: AGAIN_LATER,
  sql: `, accepted (name, definition) as ${values(
    TENANT_TABLES.flatMap(table =>
      acceptedConstraints(table).map(definition => [table, definition]),
    ),
  )}, found as (
    select o.name as on_table, o.sql, k.*,
           regexp_replace(pg_get_constraintdef(k.oid),
             'REFERENCES ("[^"]+"|[^ ."]+)\\.', 'REFERENCES ') as unqualified
      from ours o join pg_constraint k on k.conrelid = o.oid
     where k.contype in ('c', 'f', 'n') and k.conparentid = 0)
    select format('%s (%s)', f.conname, f.on_table) as name,
           format('alter table %s drop constraint %I', f.sql, f.conname) as fix
      from found f
     where case f.contype when 'n' then f.connoinherit or not f.convalidated
                          when 'f' then f.confrelid not in (
                            select oid from ours union all
                            select c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace
                             where n.nspname = $1 and c.relname = 'tenants')
                          else false end
        or not $2 and f.conname = any (array[${OUR_CONSTRAINTS}])
        or f.contype <> 'n' and not exists (
          select from accepted a
           where a.name = f.on_table and ${comparable(
             'a.definition',
           )} = ${comparable(
    `case when $2 then regexp_replace(f.unqualified, ' NOT VALID$', '') else f.unqualified end`,
  )})
     order by 1`,
};

const triggers: Rule = {
  name: 'triggers',
  level: 'failure',
  back: true,
  message: 'The tables have triggers',
  advice: AGAIN_LATER,
  sql: `
    select format('%s (%s)', t.tgname, o.name) as name,
           format('drop trigger %I on %s', t.tgname, o.sql) as fix,
           pg_get_triggerdef(t.oid) as again
      from ours o join pg_trigger t on t.tgrelid = o.oid
     where not t.tgisinternal
       and not ($2 and t.tgname ~ '^(tenancy|entity_terms)_'
                and t.tgfoid in (select oid from pg_proc where proname ~ '^(tenancy_log|entity_terms)_'))
     order by 1`,
};

const rowSecurity: Rule = {
  name: 'row-level security',
  level: 'failure',
  back: true,
  message: 'The tables have row-level security of others',
  advice:
    'Phase 4 enables row-level security. A permissive policy would let rows through beside it.',
  sql: `, policies as (
    select o.name as on_table, o.sql, p.*, $2 and c.relrowsecurity as enabled
      from ours o join pg_policy p on p.polrelid = o.oid join pg_class c on c.oid = o.oid)
    select format('%s (%s)', p.polname, p.on_table) as name,
           format('drop policy %I on %s', p.polname, p.sql) as fix
      from policies p
     where not (p.enabled and p.polname in ('${TENANT_POLICY}', '${ADMIN_POLICY}', '${FENCE_POLICY}'))
     union all
    select format('%s, where it is enabled', o.name),
           format('alter table %s disable row level security, no force row level security', o.sql)
      from ours o join pg_class c on c.oid = o.oid
     where (c.relrowsecurity or c.relforcerowsecurity)
       and not exists (select from policies p
                        where p.polrelid = o.oid and p.polname = '${TENANT_POLICY}')
     order by 1`,
};

const dependents: Rule = {
  name: 'dependents',
  level: 'failure',
  back: true,
  message: 'These would stay with the tables that go out of use',
  advice: AGAIN_LATER,
  sql: `, tree (oid, dropped) as (select oid, true from ours), own (oid) as (select oid from ours), ${HANGING}
    select name, fix, again from hanging order by depth desc, 1`,
};

/** A publication has tables by their identity: nothing of it follows the new ones, and the swap. */
export const publications: Rule = {
  name: 'publications',
  level: 'failure',
  back: true,
  message: 'Publications have the tables, or get those that are added',
  advice:
    'Take the tables out, refresh the subscriptions, and put them back afterwards.',
  sql: `, later as (
    select string_agg(format('%I.%I', $1::text, case when exists (select from ours where kind = 'p') then name
             else name || '_tenant_default' end), ', ') as tables from unnest($3::text[]) name)
    select format('%s (%s)', p.pubname, coalesce(m.members, 'all tables')) as name,
           case when m.members is null then format('drop publication %I', p.pubname)
                else format('alter publication %I drop table %s', p.pubname, m.members) end as fix,
           case when m.members is null then format('create publication %I for table %s', p.pubname, l.tables)
                else format('alter publication %I add table %s', p.pubname, l.tables) end as again
      from pg_publication p cross join later l
     cross join lateral (
       select string_agg(format('%I.%I', n.nspname, c.relname), ', '
                         order by array_position($3::text[], o.name::text), c.relname) as members
         from pg_publication_rel r join pg_class c on c.oid = r.prrelid
         join pg_namespace n on n.oid = c.relnamespace
         join ours o on o.oid = coalesce(pg_partition_root(c.oid)::oid, c.oid)
        where r.prpubid = p.oid) m
     where p.puballtables or m.members is not null or exists (
       select from pg_publication_tables t
         join pg_namespace n on n.nspname = t.schemaname
         join pg_class c on c.relnamespace = n.oid and c.relname = t.tablename
         join ours o on o.oid = coalesce(pg_partition_root(c.oid)::oid, c.oid)
        where t.pubname = p.pubname)
     order by 1`,
};

const grants: Rule = {
  name: 'grants',
  level: 'failure',
  message: 'Rights would let rows of other tenants go, or keep the owner out',
  advice:
    'Policies do not restrict these, and portal_admin gets the rights of the owner.',
  sql: `
    select format('%s of %s (%s)', a.privilege_type, g.name, o.name) as name,
           format('revoke %s on %s from %s cascade', lower(a.privilege_type collate "C"), o.sql, g.name) as fix
      from ours o join pg_class c on c.oid = o.oid, aclexplode(c.relacl) a,
           lateral (select case a.grantee when 0 then 'public' else a.grantee::regrole::text end as name) g
     where a.grantee <> o.owner and g.name <> '${ADMIN_ROLE}'
       and (a.privilege_type = 'TRUNCATE'
            or g.name = '${APP_ROLE}' and a.privilege_type in ('TRIGGER', 'REFERENCES'))
     union all
    select format('no SELECT of %s, the owner (%s)', pg_get_userbyid(o.owner), o.name),
           format('grant all on %s to %I', o.sql, pg_get_userbyid(o.owner))
      from ours o join pg_class c on c.oid = o.oid
     where not exists (
       select from aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) a
        where a.grantee = c.relowner and a.privilege_type = 'SELECT')
     order by 1`,
};

/** In the order in which they are reported, the kind of the tables first. */
export const SHAPE_RULES: readonly Rule[] = [
  storage,
  columns,
  numbered,
  keys,
  indexes,
  constraints,
  triggers,
  rowSecurity,
  dependents,
  publications,
  grants,
];
