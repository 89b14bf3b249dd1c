-- The functions that derive the terms of entities, which entity_terms holds, and keep them: triggers
-- on entities call them, in the transaction of each change.
--
-- :"schema" stands for the schema of the tenants' tables, as psql has it; :lower(...) for the lower case
-- of a text, for which servers differ, and :term_key(...) for a key with a capital letter in place of
-- its prefix: see functions.ts. The file can be run again.
--
-- The settings of the functions:
-- - plan_cache_mode: planning takes many times as long as running, so that each session has one
--   generic plan; but for statements on entities, of which it would lock the partitions of all tenants.
-- - enable_seqscan: a plan that was made for a small table or many rows would go on being used.
-- - jit: compiling takes longer than the query.
-- - standard_conforming_strings, extra_float_digits: backslashes as they stand in the text of the
--   terms, and all digits of numbers.

-- The text of a number, apart from the query of terms: PostgreSQL sets up each expression of a query
-- whenever it runs, and with this and the next one in it, the terms of an entity took twice as long.
--
-- PostgreSQL and JavaScript both print the shortest digits of a double, in different forms:
-- JavaScript has no exponent from 1e-6 to 1e21, and no leading zero in an exponent. Numbers out of
-- PostgreSQL's range of doubles are Infinity or 0 in JavaScript. Most numbers need no query.
create or replace function entity_terms_number(n numeric) returns text
  language plpgsql stable strict parallel safe as $body$
begin
  if abs(n) between 1e-6 and 9007199254740991 then
    return n::float8::text::numeric::text;
  end if;
  return case
    when abs(n) >= 1.797693134862315808e308 then case when n < 0 then '-Infinity' else 'Infinity' end
    when abs(n) <= 2.4703282292062328e-324 then '0'
    -- Beyond 2^53 a number with fewer digits may be half-way between two doubles, and is parsed as
    -- the even one. JavaScript prints such a number, PostgreSQL does not.
    when abs(n) >= 9007199254740992 and abs(n) < 1e40 then (
      select case when abs(shortest) < 1e21 then shortest::text
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
  end;
end $body$;

-- Whether a text of more than 200 bytes is within the limit by JavaScript's `length`, which counts a
-- character beyond the basic plane as two.
create or replace function entity_terms_fits(long text) returns boolean
  language plpgsql immutable strict parallel safe as $body$
begin
  return char_length(long) <= 200
    and 2 * char_length(long)
        - char_length(regexp_replace(long, '[\U00010000-\U0010ffff]', '', 'g')) <= 200;
end $body$;

-- The rows that the stock catalog writes into its table `search` for an entity, independent of the
-- order of keys, with the keys and values in the form of entity_terms.
--
-- The limits are those of the stock catalog: it leaves out keys of more than 200 characters, and stores
-- null for longer values. The number of bytes is never less, and costs nothing: it is tested first.
--
-- Unlike its `buildEntitySearch`, this descends 128 levels at the most: a registered entity may have
-- thousands, each of which holds all those below. Keys of so many levels are too long to be stored,
-- so that the limit leaves out nested lists only. That one refuses an entity with keys that differ
-- only in case; this returns the rows of both. Of rows that differ only in `original_value`, it keeps
-- the first.
--
-- Terms have places in the order of the stock catalog's traversal: in JavaScript members whose key is
-- an array index come first (the others are behind 2^30), and terms added after the traversal last. A
-- place is a bytea with one number for each level, whose byte order is that of the numbers; it costs
-- less to append to and to compare than an array.
create or replace function entity_terms_of(entity jsonb, entity_id uuid)
  returns table (key text, value text, original_value text)
  language sql stable parallel safe rows 60 as $body$
with recursive document (root) as materialized (
  -- What is stored compressed is read once.
  select entity #> '{}'
), walk (path, node, kind, place) as (
  -- Of jsonb_typeof the first letter: number and null have the same.
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
       -- The stock catalog does not index these by its general rule, of which the longest has 18 bytes.
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
     -- 128 levels of 4 bytes.
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
  -- As JavaScript's String(value) has a primitive; null for null.
  select :lower(key), case kind
           when 'n' then entity_terms_number((node #>> '{}')::numeric)
           else node #>> '{}'
         end, place from term offset 0
), lowered (key, value, original_value, place) as not materialized (
  select key, :lower(original_value), original_value, place
    from written where (octet_length(key) <= 200 or entity_terms_fits(key)) offset 0
), kept (key, value, original_value, place) as (
  select key, case when short then value end, case when short then original_value end, place
    from lowered, lateral (select (octet_length(value) <= 200 or entity_terms_fits(value))) bounded (short)
)
select :term_key(key) as key, value,
       coalesce(nullif(original_value collate "C", value collate "C"), '') as original_value
  from (select distinct on (key collate "C", value collate "C") key, value, original_value
          from kept
         order by key collate "C", value collate "C", place) term
$body$;

-- Writes the terms of some entities of a tenant, as far as they differ. The caller holds locks on the
-- rows of the entities, as every writer of a row does, so no two sessions write the same terms.
create or replace function entity_terms_sync(of_tenant uuid, ids uuid[], finals jsonb[])
  returns void language plpgsql
  set search_path = pg_catalog, :"schema", pg_temp
  set row_security = on
  set plan_cache_mode = force_generic_plan
  set enable_seqscan = off
  set jit = off
  set standard_conforming_strings = on
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
          select e.id as entity_id, t.key collate "C" as key, t.value, t.original_value,
                 null::tid as address
            from unnest(ids, finals) e (id, final), lateral entity_terms_of(e.final, e.id) t
           where e.final is not null
           union all
          select s.entity_id, s.key, s.value, s.original_value, s.ctid
            from entity_terms s
           where s.tenant_id = of_tenant and s.entity_id = any (ids)
        ) sides
       group by 1, 2, 3, 4 having count(*) = 1
    ) difference;
  if gone is not null then
    -- The tenant too: an address means something else in each shard of a table.
    delete from entity_terms where tenant_id = of_tenant and ctid = any (gone);
  end if;
  if new_ids is not null then
    insert into entity_terms (tenant_id, entity_id, key, value, original_value)
    select of_tenant, n.id, n.key, n.value, n.original_value
      from unnest(new_ids, new_keys, new_values, new_originals) n (id, key, value, original_value)
        on conflict do nothing;
  end if;
end $body$;

-- The function of the triggers on entities. SECURITY DEFINER: the application has no right to write
-- terms. One statement writes or compares the terms of 200 entities.
create or replace function entity_terms_follow() returns trigger language plpgsql
  security definer
  set search_path = pg_catalog, :"schema", pg_temp
  set row_security = on
  set plan_cache_mode = force_generic_plan
  set enable_seqscan = off
  set jit = off
  set standard_conforming_strings = on
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
      -- that had the same id. ON CONFLICT looks, for each term.
      begin
        insert into entity_terms (tenant_id, entity_id, key, value, original_value)
        select item.tenant_id, n.id, t.key, t.value, t.original_value
          from unnest(item.ids, item.finals) n (id, final), lateral entity_terms_of(n.final, n.id) t;
      exception when unique_violation then
        insert into entity_terms (tenant_id, entity_id, key, value, original_value)
        select item.tenant_id, n.id, t.key, t.value, t.original_value
          from unnest(item.ids, item.finals) n (id, final), lateral entity_terms_of(n.final, n.id) t
            on conflict do nothing;
      end;
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
      perform entity_terms_sync(item.tenant_id, item.ids, item.finals);
    end loop;
  elsif tg_op = 'DELETE' then
    for item in
      select tenant_id, array_agg(entity_id) as ids from old_rows group by tenant_id
    loop
      delete from entity_terms
       where tenant_id = item.tenant_id and entity_id = any (item.ids);
    end loop;
  else
    truncate entity_terms;
  end if;
  return null;
end $body$;

-- Repairs the terms of an entity, and rewrites its row: a transaction whose snapshot lacks the new
-- terms then fails with 40001 on it.
create or replace function entity_terms_repair(of_tenant uuid, of_entity uuid)
  returns void language plpgsql
  set search_path = pg_catalog, :"schema", pg_temp
  set row_security = on
  set plan_cache_mode = force_custom_plan
  set enable_seqscan = off
  set jit = off
  set standard_conforming_strings = on
  set extra_float_digits = 1 as $body$
begin
  update entities set hash = hash where tenant_id = of_tenant and entity_id = of_entity;
  delete from entity_terms where tenant_id = of_tenant and entity_id = of_entity;
  perform entity_terms_sync(of_tenant, array[of_entity],
    array[(select final_entity from entities
            where tenant_id = of_tenant and entity_id = of_entity and deleted_at is null)]);
end $body$;
