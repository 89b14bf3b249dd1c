-- What versions before entity_terms created in its place, as they left it in the schema tenancy
-- after the fill. Their step 5_90_entity_search created it.

create table if not exists entity_search (
  tenant_id uuid not null,
  entity_id uuid not null,
  key text not null,
  value text,
  original_value text
);

comment on table entity_search is 'What live entities are found by: the flattened keys and values of final_entity. Written by triggers of entities alone';

comment on column entity_search.key is 'In lower case';

comment on column entity_search.value is 'In lower case; null for null, and for what is longer than 200 characters';

comment on column entity_search.original_value is 'As the entity has it';

alter table entity_search set (
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_insert_scale_factor = 0.01,
  autovacuum_analyze_scale_factor = 0.02);

create statistics if not exists entity_search_key_value_stats (dependencies, ndistinct, mcv) on tenant_id, key, value from entity_search;

alter statistics entity_search_key_value_stats owner to portal_admin;

create statistics if not exists entity_search_facets_stats (ndistinct) on tenant_id, key, original_value from entity_search;

alter statistics entity_search_facets_stats owner to portal_admin;

drop policy if exists tenant_isolation on entity_search;

create policy tenant_isolation on entity_search for all
  using (tenant_id = coalesce(
    nullif(current_setting('app.tenant_id', true), ''),
    tenant_required('entity_search')::text)::uuid)
  with check (tenant_id = coalesce(
    nullif(current_setting('app.tenant_id', true), ''),
    tenant_required('entity_search')::text)::uuid);

alter table entity_search enable row level security;

alter table entity_search force row level security;

alter table entity_search owner to portal_admin;

do $$
declare role text;
begin
  for role in
    select distinct case a.grantee when 0 then 'public' else a.grantee::regrole::text end
      from pg_class c, aclexplode(c.relacl) a
     where c.oid = to_regclass('entity_search') and a.grantee <> c.relowner
  loop
    execute format('revoke all on entity_search from %s', role);
  end loop;
end $$;

grant select on table entity_search to portal_app;

alter table entity_search replica identity full;

create unique index if not exists entity_search_entity_key_value_idx
  on entity_search (tenant_id, entity_id, key, value);

create index if not exists entity_search_key_value_entity_idx
  on entity_search (tenant_id, key, value, entity_id);

create index if not exists entity_search_facets_idx
  on entity_search (tenant_id, key, original_value, entity_id) where original_value is not null;

create or replace function entity_search_terms(entity jsonb, entity_id uuid)
  returns table (key text, value text, original_value text)
  language sql stable parallel safe rows 60 as $body$
with recursive document (root) as materialized (
  -- What is stored compressed is read once.
  select entity #> '{}'
), walk (path, node, kind, place) as (
  select ''::text, root, jsonb_typeof(root)::"char", ''::bytea from document
   union all
  select step.path, step.node, jsonb_typeof(step.node)::"char", walk.place || int4send(step.place)
    from walk, lateral (
      select member.path, member.node,
             member.position::int + case
               when member.key collate "C" < ':' and member.key ~ '^(0|[1-9][0-9]{0,9})$'
                and member.key::bigint < 4294967295
               then 0 else 1073741824 end
        from (select case walk.path when '' then m.key else walk.path || '.' || m.key end,
                     m.key, m.value, m.position
                from jsonb_each(case walk.kind when 'o' then walk.node end)
                     with ordinality m (key, value, position)
               where walk.kind = 'o' offset 0) member (path, key, node, position)
       where octet_length(member.path) > 18
          or member.path <> all ('{attachments,relations,status,metadata.name,metadata.namespace,metadata.uid,metadata.etag}')
       union all
      -- Each item, and true at each text.
      select case part when 0 then walk.path else walk.path || '.' || (item.node #>> '{}') end,
             case part when 0 then item.node else 'true' end,
             2 * item.position::int + part
        from jsonb_array_elements(case walk.kind when 'a' then walk.node end)
             with ordinality item (node, position),
             (values (0), (1)) parts (part)
       where walk.kind = 'a' and (part = 0 or jsonb_typeof(item.node) = 'string')
    ) step (path, node, place)
   where (walk.kind = 'o' or walk.kind = 'a')
     and octet_length(walk.place) < 512
     and char_length(walk.path) <= 400
), term (key, node, kind, place) as (
  select path, node, kind, place from walk where kind <> 'o' and kind <> 'a'
   union all
  select added.key, added.node, jsonb_typeof(added.node)::"char", '\x7fffffff'::bytea || int4send(added.place)
    from (select root -> 'metadata' from document offset 0) m (metadata), lateral (values
      ('metadata.name', coalesce(metadata -> 'name', 'null'), 0),
      ('metadata.namespace', coalesce(metadata -> 'namespace', 'null'), 1),
      ('metadata.uid', coalesce(nullif(metadata -> 'uid', 'null'), to_jsonb(entity_id)), 2),
      ('metadata.namespace',
       case when coalesce(metadata ->> 'namespace', '') = '' then jsonb '"default"' end, 3)
    ) added (key, node, place)
   where added.node is not null
   union all
  select relation.key, relation.node, jsonb_typeof(relation.node)::"char",
         '\x7fffffff'::bytea || int4send(3 + relation.position::int)
    from (select 'relations.' || coalesce(r.node ->> 'type', 'undefined'),
                 coalesce(r.node -> 'targetRef', 'null'), r.position
            from document, jsonb_array_elements(case jsonb_typeof(root -> 'relations')
                   when 'array' then root -> 'relations' else '[]' end)
                 with ordinality r (node, position)
           where jsonb_typeof(r.node) = 'object' offset 0) relation (key, node, position)
), written (key, original_value, place) as not materialized (
  select case when octet_length(key) = char_length(key)
              then lower(key collate "C") else lower(key collate "und-x-icu") collate "C" end, case kind
         when 'n' then (select case
         when abs(n) >= 1.797693134862315808e308 then case when n < 0 then '-Infinity' else 'Infinity' end
         when abs(n) <= 2.4703282292062328e-324 then '0'
         when abs(n) >= 9007199254740992 and abs(n) < 1e40 then (select case when abs(shortest) < 1e21 then shortest::text
                else regexp_replace(rtrim(shortest::text, '0'), '(\d)(\d+)', '\1.\2')
                       || 'e+' || length(abs(shortest)::text) - 1 end
           from (select n::float8, n::float8::text::numeric) number (double, written),
                lateral (select ('1e' || 1 + length(written::text) - length(rtrim(written::text, '0')))::numeric)
                  unit (unit),
                lateral (select trunc(written / unit) * unit, (trunc(written / unit) + sign(written)) * unit)
                  others (lower, upper),
                lateral (select case
                   when lower::float8 = double
                    and (upper::float8 <> double or abs(written - lower) <= abs(upper - written)) then lower
                   when upper::float8 = double then upper
                   else written end) chosen (shortest))
         when abs(n::float8) >= 1e-6 and abs(n) < 9007199254740992 then n::float8::text::numeric::text
         else regexp_replace(n::float8::text, 'e([+-])0', 'e\1')
       end from (select (node #>> '{}')::numeric) number (n))
         else node #>> '{}'
       end, place from term offset 0
), lowered (key, value, original_value, place) as not materialized (
  select key, case when octet_length(original_value) = char_length(original_value)
              then lower(original_value collate "C") else lower(original_value collate "und-x-icu") collate "C" end, original_value, place
    from written where (octet_length(key) <= 200 or char_length(key) <= 200
         and 2 * char_length(key)
             - char_length(regexp_replace(key, '[\U00010000-\U0010ffff]', '', 'g')) <= 200) offset 0
), kept (key, value, original_value, place) as (
  select key, case when short then value end, case when short then original_value end, place
    from lowered, lateral (select (octet_length(value) <= 200 or char_length(value) <= 200
         and 2 * char_length(value)
             - char_length(regexp_replace(value, '[\U00010000-\U0010ffff]', '', 'g')) <= 200)) bounded (short)
)
select distinct on (key collate "C", value collate "C") key, value, original_value
  from kept
 order by key collate "C", value collate "C", place
$body$;

create or replace function entity_search_sync(of_tenant uuid, ids uuid[], finals jsonb[])
  returns void language plpgsql
  set search_path = pg_catalog, tenancy, pg_temp
  set row_security = off
  set plan_cache_mode = force_generic_plan
  set enable_seqscan = off
  set jit = off
  set extra_float_digits = 1 as $body$
declare
  gone tid[];
  new_ids uuid[];
  new_keys text[];
  new_values text[];
  new_originals text[];
begin
  select array_agg(address) filter (where address is not null),
         array_agg(entity_id) filter (where address is null),
         array_agg(key) filter (where address is null),
         array_agg(value) filter (where address is null),
         array_agg(original_value) filter (where address is null)
    into gone, new_ids, new_keys, new_values, new_originals
    from (
      -- What is on one side only.
      select entity_id, key, value, original_value, max(address) as address
        from (
          select e.id as entity_id, t.key, t.value, t.original_value, null::tid as address
            from unnest(ids, finals) e (id, final), lateral entity_search_terms(e.final, e.id) t
           where e.final is not null
           union all
          select s.entity_id, s.key, s.value, s.original_value, s.ctid
            from entity_search s
           where s.tenant_id = of_tenant and s.entity_id = any (ids)
        ) sides
       group by 1, 2, 3, 4 having count(*) = 1
    ) difference;
  if gone is not null then
    -- The tenant too: an address means something else in each shard of a table.
    delete from entity_search where tenant_id = of_tenant and ctid = any (gone);
  end if;
  if new_ids is not null then
    insert into entity_search (tenant_id, entity_id, key, value, original_value)
    select of_tenant, n.id, n.key, n.value, n.original_value
      from unnest(new_ids, new_keys, new_values, new_originals) n (id, key, value, original_value)
        on conflict do nothing;
  end if;
end $body$;

create or replace function entity_search_follow() returns trigger language plpgsql
  security definer
  set search_path = pg_catalog, tenancy, pg_temp
  set row_security = off
  set plan_cache_mode = force_generic_plan
  set enable_seqscan = off
  set jit = off
  set extra_float_digits = 1 as $body$
declare
  item record;
begin
  if tg_op = 'INSERT' then
    -- Citus takes no transition table in a statement that names a distributed one: hence
    -- the arrays.
    for item in
      select tenant_id, array_agg(entity_id) as ids, array_agg(final_entity) as finals
        from (
          select tenant_id, entity_id, final_entity,
                 row_number() over () / 200 as part
            from new_rows where deleted_at is null
        ) entity
       group by tenant_id, part
    loop
      -- No look at what is there: an older snapshot may still show the terms of a row
      -- that had the same id.
      insert into entity_search (tenant_id, entity_id, key, value, original_value)
      select item.tenant_id, n.id, t.key, t.value, t.original_value
        from unnest(item.ids, item.finals) n (id, final), lateral entity_search_terms(n.final, n.id) t
          on conflict do nothing;
    end loop;
  elsif tg_op = 'UPDATE' then
    -- What is the same on both sides is there twice, and is left alone.
    for item in
      select tenant_id, array_agg(entity_id) as ids, array_agg(final) as finals
        from (
          select tenant_id, entity_id, (array_agg(final_entity) filter (where is_new))[1] as final,
                 row_number() over () / 200 as part
            from (
              select tenant_id, entity_id, final_entity, bool_or(is_new) as is_new
                from (
                  select tenant_id, entity_id, final_entity, false as is_new
                    from old_rows where deleted_at is null
                   union all
                  select tenant_id, entity_id, final_entity, true
                    from new_rows where deleted_at is null
                ) live
               group by 1, 2, 3 having count(*) = 1
            ) changed
           group by 1, 2
        ) entity
       group by tenant_id, part
    loop
      perform entity_search_sync(item.tenant_id, item.ids, item.finals);
    end loop;
  elsif tg_op = 'DELETE' then
    for item in
      select tenant_id, array_agg(entity_id) as ids from old_rows group by tenant_id
    loop
      delete from entity_search
       where tenant_id = item.tenant_id and entity_id = any (item.ids);
    end loop;
  else
    truncate entity_search;
  end if;
  return null;
end $body$;

create or replace function entity_search_repair(of_tenant uuid, of_entity uuid)
  returns void language plpgsql
  set search_path = pg_catalog, tenancy, pg_temp
  set row_security = off
  set plan_cache_mode = force_custom_plan
  set enable_seqscan = off
  set jit = off
  set extra_float_digits = 1 as $body$
begin
  update entities set hash = hash where tenant_id = of_tenant and entity_id = of_entity;
  delete from entity_search where tenant_id = of_tenant and entity_id = of_entity;
  perform entity_search_sync(of_tenant, array[of_entity],
    array[(select final_entity from entities
            where tenant_id = of_tenant and entity_id = of_entity and deleted_at is null)]);
end $body$;

alter function entity_search_follow() owner to portal_admin;

do $$
declare role text;
begin
  for role in
    select distinct case a.grantee when 0 then 'public' else a.grantee::regrole::text end
      from pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
     where p.oid = to_regprocedure('entity_search_follow()') and a.grantee <> p.proowner
  loop
    execute format('revoke all on function entity_search_follow() from %s', role);
  end loop;
end $$;

alter function entity_search_repair(uuid, uuid) owner to portal_admin;

do $$
declare role text;
begin
  for role in
    select distinct case a.grantee when 0 then 'public' else a.grantee::regrole::text end
      from pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
     where p.oid = to_regprocedure('entity_search_repair(uuid, uuid)') and a.grantee <> p.proowner
  loop
    execute format('revoke all on function entity_search_repair(uuid, uuid) from %s', role);
  end loop;
end $$;

alter function entity_search_sync(uuid, uuid[], jsonb[]) owner to portal_admin;

do $$
declare role text;
begin
  for role in
    select distinct case a.grantee when 0 then 'public' else a.grantee::regrole::text end
      from pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
     where p.oid = to_regprocedure('entity_search_sync(uuid, uuid[], jsonb[])') and a.grantee <> p.proowner
  loop
    execute format('revoke all on function entity_search_sync(uuid, uuid[], jsonb[]) from %s', role);
  end loop;
end $$;

alter function entity_search_terms(jsonb, uuid) owner to portal_admin;

do $$
declare role text;
begin
  for role in
    select distinct case a.grantee when 0 then 'public' else a.grantee::regrole::text end
      from pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
     where p.oid = to_regprocedure('entity_search_terms(jsonb, uuid)') and a.grantee <> p.proowner
  loop
    execute format('revoke all on function entity_search_terms(jsonb, uuid) from %s', role);
  end loop;
end $$;

create or replace trigger entity_search_insert after insert on entities referencing new table as new_rows
  for each statement execute function entity_search_follow();

alter table entities enable always trigger entity_search_insert;

create or replace trigger entity_search_update after update on entities referencing old table as old_rows new table as new_rows
  for each statement execute function entity_search_follow();

alter table entities enable always trigger entity_search_update;

create or replace trigger entity_search_delete after delete on entities referencing old table as old_rows
  for each statement execute function entity_search_follow();

alter table entities enable always trigger entity_search_delete;

create or replace trigger entity_search_truncate after truncate on entities
  for each statement execute function entity_search_follow();

alter table entities enable always trigger entity_search_truncate;

insert into entity_search (tenant_id, entity_id, key, value, original_value)
select e.tenant_id, e.entity_id, t.key, t.value, t.original_value
  from entities e, lateral entity_search_terms(e.final_entity, e.entity_id) t
 where e.deleted_at is null;
