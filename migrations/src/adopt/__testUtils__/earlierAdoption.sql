-- The tables and functions of an adoption as the version before engines of tenants made them.
-- Triggers are those of the present version for the default tenant.

create table if not exists adoption_faults (
  source text not null,
  key text not null,
  reason text not null,
  sqlstate text not null,
  first_seen_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  attempts int not null default 1,
  primary key (source, key)
);

comment on table adoption_faults is 'What of the catalog could not be carried, and why; written by triggers on its tables';

create table if not exists adoption_state (
  key text primary key,
  value jsonb not null
);

create or replace function adoption_note(
  p_source text, p_key text, p_reason text, p_state text)
returns void language plpgsql set search_path = pg_catalog, tenancy, pg_temp as $$
declare
  -- A row of its own for each session where no entity is known: those that wrote to the
  -- same one would wait for each other, and for what both have locked.
  v_key text := case when p_key is null or p_key = '*'
    then '* of process ' || pg_backend_pid() else p_key end;
begin
  begin
    if p_key ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then
      if p_source = 'final_entities' then
        perform adoption_forget_entity(p_key::uuid);
      elsif p_source = 'relations' then
        if exists (select from pg_attribute
    where attrelid = to_regclass('relations') and attname = 'tenant_id' and attnotnull
      and not attisdropped) then
  delete from relations where tenant_id = '00000000-0000-0000-0000-000000000001' and originating_entity_id = p_key::uuid;
else
  delete from relations where originating_entity_id = p_key::uuid;
end if;
      elsif p_source = 'refresh_state' then
        if exists (select from pg_attribute
    where attrelid = to_regclass('refresh_state') and attname = 'tenant_id' and attnotnull
      and not attisdropped) then
  delete from refresh_state where tenant_id = '00000000-0000-0000-0000-000000000001' and entity_id = p_key::uuid;
else
  delete from refresh_state where entity_id = p_key::uuid;
end if;
      end if;
    end if;
  exception when others then
    raise warning 'catalog-tenancy: % % stays as it was: %', p_source, p_key, sqlerrm;
  end;
  insert into adoption_faults as f (source, key, reason, sqlstate)
  values (p_source, v_key, p_reason, p_state)
  on conflict (source, key) do update
    set reason = excluded.reason, sqlstate = excluded.sqlstate,
        last_seen_at = now(), attempts = f.attempts + 1;
exception when others then
  raise warning 'catalog-tenancy: % % is not carried: % (and that is not kept: %)',
    p_source, p_key, p_reason, sqlerrm;
end $$;

create or replace function adoption_check_snapshot()
returns void language plpgsql set search_path = pg_catalog, tenancy, pg_temp as $$
begin
  lock table entities in access share mode;
  if to_regclass('entities') is distinct from (
       select c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where c.relname = 'entities' and n.nspname = 'tenancy') then
    raise exception 'the transaction is older than the tables'
      using errcode = 'serialization_failure';
  end if;
end $$;

create or replace function adoption_is_carried(p_id uuid)
returns boolean language plpgsql set search_path = pg_catalog, tenancy, pg_temp as $$
begin
  if exists (select from pg_attribute
    where attrelid = to_regclass('entities') and attname = 'tenant_id' and attnotnull
      and not attisdropped) then
  perform from entities where tenant_id = '00000000-0000-0000-0000-000000000001' and entity_id = p_id;
else
  perform from entities where entity_id = p_id;
end if;
  if not found and current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'the transaction may be older than the entity'
      using errcode = 'serialization_failure';
  end if;
  return found;
end $$;

create or replace function adoption_put_relations(p_id text)
returns void language plpgsql set search_path = pg_catalog, tenancy, pg_temp as $$
declare
  v_id uuid;
begin
  if p_id !~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then
    return;
  end if;
  if current_setting('transaction_isolation') <> 'read committed' then
  perform adoption_check_snapshot();
end if;
  v_id := p_id::uuid;
  if not adoption_is_carried(v_id) then
    return;
  end if;
  if exists (select from pg_attribute
    where attrelid = to_regclass('relations') and attname = 'tenant_id' and attnotnull
      and not attisdropped) then
  for pass in 1 .. 100 loop
    delete from relations r
     where r.tenant_id = '00000000-0000-0000-0000-000000000001' and r.originating_entity_id = v_id
       and (r.source_entity_ref, r.type, r.target_entity_ref) in (
         select source_entity_ref, type, target_entity_ref from (select source_entity_ref, type, target_entity_ref from relations where tenant_id = '00000000-0000-0000-0000-000000000001' and originating_entity_id = v_id except all select source_entity_ref, type, target_entity_ref from public.relations where originating_entity_id = p_id) s);
    insert into relations (tenant_id, originating_entity_id, source_entity_ref, type, target_entity_ref)
    select '00000000-0000-0000-0000-000000000001'::uuid, v_id, source_entity_ref, type, target_entity_ref from (select source_entity_ref, type, target_entity_ref from public.relations where originating_entity_id = p_id except all select source_entity_ref, type, target_entity_ref from relations where tenant_id = '00000000-0000-0000-0000-000000000001' and originating_entity_id = v_id) s;
    exit when not exists (select source_entity_ref, type, target_entity_ref from relations where tenant_id = '00000000-0000-0000-0000-000000000001' and originating_entity_id = v_id except all select source_entity_ref, type, target_entity_ref from public.relations where originating_entity_id = p_id);
    if pass = 100 then
      raise exception 'rows of the default tenant can''t be deleted';
    end if;
  end loop;
else
  for pass in 1 .. 100 loop
    delete from relations r
     where r.originating_entity_id = v_id
       and (r.source_entity_ref, r.type, r.target_entity_ref) in (
         select source_entity_ref, type, target_entity_ref from (select source_entity_ref, type, target_entity_ref from relations where originating_entity_id = v_id except all select source_entity_ref, type, target_entity_ref from public.relations where originating_entity_id = p_id) s);
    insert into relations (originating_entity_id, source_entity_ref, type, target_entity_ref)
    select v_id, source_entity_ref, type, target_entity_ref from (select source_entity_ref, type, target_entity_ref from public.relations where originating_entity_id = p_id except all select source_entity_ref, type, target_entity_ref from relations where originating_entity_id = v_id) s;
    exit when not exists (select source_entity_ref, type, target_entity_ref from relations where originating_entity_id = v_id except all select source_entity_ref, type, target_entity_ref from public.relations where originating_entity_id = p_id);
    if pass = 100 then
      raise exception 'rows of the default tenant can''t be deleted';
    end if;
  end loop;
end if;
  delete from adoption_faults where source = 'relations' and key = p_id;
end $$;

create or replace function adoption_put_state(
  p_id text, p_location_key text, p_errors text)
returns void language plpgsql set search_path = pg_catalog, tenancy, pg_temp as $$
declare
  v_id uuid;
  v_errors jsonb := coalesce(nullif(p_errors, ''), '[]')::jsonb;
  v_found boolean;
begin
  if p_id !~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then
    return;
  end if;
  if current_setting('transaction_isolation') <> 'read committed' then
  perform adoption_check_snapshot();
end if;
  v_id := p_id::uuid;
  if not adoption_is_carried(v_id) then
    return;
  end if;
  for attempt in 1 .. 3 loop
    if exists (select from pg_attribute
    where attrelid = to_regclass('refresh_state') and attname = 'tenant_id' and attnotnull
      and not attisdropped) then
  update refresh_state set location_key = p_location_key, errors = v_errors
   where tenant_id = '00000000-0000-0000-0000-000000000001' and entity_id = v_id;
else
  update refresh_state set location_key = p_location_key, errors = v_errors
   where entity_id = v_id;
end if;
    v_found := found;
    exit when v_found;
    if exists (select from pg_attribute
    where attrelid = to_regclass('refresh_state') and attname = 'tenant_id' and attnotnull
      and not attisdropped) then
  insert into refresh_state (tenant_id, entity_id, location_key, errors)
  values ('00000000-0000-0000-0000-000000000001'::uuid, v_id, p_location_key, v_errors)
  on conflict do nothing;
else
  insert into refresh_state (entity_id, location_key, errors)
  values (v_id, p_location_key, v_errors)
  on conflict do nothing;
end if;
    v_found := found;
    exit when v_found;
  end loop;
  if not v_found then
    raise exception 'another row is in the way of the refresh state'
      using errcode = 'serialization_failure';
  end if;
  delete from adoption_faults where source = 'refresh_state' and key = p_id;
end $$;

create or replace function adoption_put_rest(p_id text)
returns void language plpgsql set search_path = pg_catalog, tenancy, pg_temp as $$
begin
  begin
    perform adoption_put_relations(p_id);
  exception when others then
    perform adoption_note('relations', p_id, sqlerrm, sqlstate);
  end;
  begin
    perform adoption_put_state(s.entity_id, s.location_key, s.errors)
       from public.refresh_state s where s.entity_id = p_id;
  exception when others then
    perform adoption_note('refresh_state', p_id, sqlerrm, sqlstate);
  end;
end $$;

create or replace function adoption_put_entity(
  p_id text, p_ref text, p_entity text, p_hash text, p_updated_at timestamptz)
returns void language plpgsql set search_path = pg_catalog, tenancy, pg_temp as $$
declare
  v_id uuid;
  v_entity jsonb := p_entity::jsonb;
  v_updated_at timestamptz := coalesce(p_updated_at, 'epoch');
  v_parts text[] := regexp_match(p_ref, '^([^:/]+):([^:/]+)/([^:/]+)$');
  v_found boolean := false;
begin
  if p_id !~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then
    raise exception 'the entity_id "%" is no UUID in lower case', p_id
      using errcode = 'invalid_text_representation';
  end if;
  if v_parts is null then
    raise exception 'the entity_ref "%" is not of the form kind:namespace/name', p_ref
      using errcode = 'invalid_text_representation';
  end if;
  if jsonb_typeof(v_entity) <> 'object' then
    raise exception 'the entity is no JSON object'
      using errcode = 'invalid_text_representation';
  end if;
  if current_setting('transaction_isolation') <> 'read committed' then
  perform adoption_check_snapshot();
end if;
  v_id := p_id::uuid;
  for attempt in 1 .. 3 loop
    if exists (select from pg_attribute
    where attrelid = to_regclass('entities') and attname = 'tenant_id' and attnotnull
      and not attisdropped) then
  update entities
     set entity_ref = p_ref, entity_kind = v_parts[1], entity_namespace = v_parts[2],
         entity_name = v_parts[3], final_entity = v_entity, hash = p_hash,
         updated_at = v_updated_at, deleted_at = null
   where tenant_id = '00000000-0000-0000-0000-000000000001' and entity_id = v_id;
else
  update entities
     set entity_ref = p_ref, entity_kind = v_parts[1], entity_namespace = v_parts[2],
         entity_name = v_parts[3], final_entity = v_entity, hash = p_hash,
         updated_at = v_updated_at, deleted_at = null
   where entity_id = v_id;
end if;
    v_found := found;
    exit when v_found;
    perform from public.refresh_state
      where entity_id = p_id for share;
    if exists (select from pg_attribute
    where attrelid = to_regclass('entities') and attname = 'tenant_id' and attnotnull
      and not attisdropped) then
  perform adoption_forget_entity(entity_id) from entities
   where tenant_id = '00000000-0000-0000-0000-000000000001' and entity_ref = p_ref and entity_id <> v_id;
else
  perform adoption_forget_entity(entity_id) from entities
   where entity_ref = p_ref and entity_id <> v_id;
end if;
    if exists (select from pg_attribute
    where attrelid = to_regclass('entities') and attname = 'tenant_id' and attnotnull
      and not attisdropped) then
  insert into entities (tenant_id, entity_id, entity_ref, entity_kind,
    entity_namespace, entity_name, final_entity, hash, created_at, updated_at)
  values ('00000000-0000-0000-0000-000000000001'::uuid, v_id, p_ref, v_parts[1],
    v_parts[2], v_parts[3], v_entity, p_hash, v_updated_at, v_updated_at)
  on conflict do nothing;
else
  insert into entities (entity_id, entity_ref, entity_kind,
    entity_namespace, entity_name, final_entity, hash, created_at, updated_at)
  values (v_id, p_ref, v_parts[1],
    v_parts[2], v_parts[3], v_entity, p_hash, v_updated_at, v_updated_at)
  on conflict do nothing;
end if;
    v_found := found;
    if v_found then
      perform adoption_put_rest(p_id);
      exit;
    end if;
  end loop;
  if not v_found then
    raise exception 'another row is in the way of the entity'
      using errcode = 'serialization_failure';
  end if;
  delete from adoption_faults where source = 'final_entities' and key = p_id;
end $$;

create or replace function adoption_forget_entity(p_id uuid)
returns void language plpgsql set search_path = pg_catalog, tenancy, pg_temp as $$
begin
  if exists (select from pg_attribute
    where attrelid = to_regclass('relations') and attname = 'tenant_id' and attnotnull
      and not attisdropped) then
  delete from relations where tenant_id = '00000000-0000-0000-0000-000000000001' and originating_entity_id = p_id;
else
  delete from relations where originating_entity_id = p_id;
end if;
  if exists (select from pg_attribute
    where attrelid = to_regclass('refresh_state') and attname = 'tenant_id' and attnotnull
      and not attisdropped) then
  delete from refresh_state where tenant_id = '00000000-0000-0000-0000-000000000001' and entity_id = p_id;
else
  delete from refresh_state where entity_id = p_id;
end if;
  if exists (select from pg_attribute
    where attrelid = to_regclass('entities') and attname = 'tenant_id' and attnotnull
      and not attisdropped) then
  delete from entities where tenant_id = '00000000-0000-0000-0000-000000000001' and entity_id = p_id;
else
  delete from entities where entity_id = p_id;
end if;
end $$;

create or replace function adoption_drop_entity(p_id text)
returns void language plpgsql set search_path = pg_catalog, tenancy, pg_temp as $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
  perform adoption_check_snapshot();
end if;
  if p_id ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then
    perform adoption_forget_entity(p_id::uuid);
  end if;
  delete from adoption_faults where key = p_id
    and source in ('final_entities', 'relations', 'refresh_state');
end $$;

create or replace function adoption_put_parent(p_parent text, p_ref text)
returns void language plpgsql set search_path = pg_catalog, tenancy, pg_temp as $$
begin
  for pass in 1 .. 100 loop
    delete from entity_parents where tenant_id = '00000000-0000-0000-0000-000000000001'::uuid and parent_entity_ref = p_parent and entity_ref = p_ref;
    exit when not exists (select from entity_parents where tenant_id = '00000000-0000-0000-0000-000000000001'::uuid and parent_entity_ref = p_parent and entity_ref = p_ref);
    if pass = 100 then
      raise exception 'rows of the default tenant can''t be deleted';
    end if;
  end loop;
  insert into entity_parents (tenant_id, entity_ref, parent_entity_ref)
  select '00000000-0000-0000-0000-000000000001'::uuid, target_entity_ref, source_entity_ref
    from public.refresh_state_references
   where source_entity_ref = p_parent and target_entity_ref = p_ref;
end $$;

create or replace function adoption_put(p_id text)
returns void language plpgsql set search_path = pg_catalog, tenancy, pg_temp as $$
declare
  v_row record;
begin
  perform from public.refresh_state
    where entity_id = p_id for share;
  select * into v_row from public.final_entities
    where entity_id = p_id for share;
  if not found or v_row.final_entity is null then
    perform adoption_drop_entity(p_id);
    return;
  end if;
  begin
    perform adoption_put_entity(v_row.entity_id, v_row.entity_ref, v_row.final_entity,
      v_row.hash, v_row.last_updated_at);
  exception when data_exception or integrity_constraint_violation
              or program_limit_exceeded or serialization_failure then
    perform adoption_note('final_entities', p_id, sqlerrm, sqlstate);
    return;
  end;
  perform adoption_put_rest(p_id);
end $$;

create or replace function adoption_copy(
  p_after text, p_rows int, out last text, out rows int)
language plpgsql set search_path = pg_catalog, tenancy, pg_temp as $$
declare
  v_id text;
begin
  rows := 0;
  for v_id in
    select f.entity_id
      from public.final_entities f
      join public.refresh_state s on s.entity_id = f.entity_id
     where f.entity_id > p_after
     order by f.entity_id limit p_rows
       for share of f, s skip locked
  loop
    perform adoption_put(v_id);
    last := v_id;
    rows := rows + 1;
  end loop;
end $$;

create or replace function adoption_copy_parents(p_after bigint, p_rows int)
returns bigint language plpgsql set search_path = pg_catalog, tenancy, pg_temp as $$
declare
  v_edge record;
  v_last bigint;
begin
  for v_edge in
    select id, source_entity_ref, target_entity_ref
      from public.refresh_state_references
     where id > p_after and source_entity_ref is not null
     order by id limit p_rows for key share skip locked
  loop
    perform adoption_put_parent(v_edge.source_entity_ref, v_edge.target_entity_ref);
    v_last := v_edge.id;
  end loop;
  return v_last;
end $$;

create or replace function adoption_json(p_text text)
returns jsonb language plpgsql immutable as $$
begin
  return p_text::jsonb;
exception when others then
  return null;
end $$;

create or replace function adoption_on_final_entities()
returns trigger language plpgsql security definer set search_path = pg_catalog, tenancy, pg_temp as $$
begin
  for attempt in 1 .. 3 loop
    begin
      if tg_op = 'TRUNCATE' then
        if exists (select from pg_attribute
    where attrelid = to_regclass('relations') and attname = 'tenant_id' and attnotnull
      and not attisdropped) then
  delete from relations where tenant_id = '00000000-0000-0000-0000-000000000001' and true;
else
  delete from relations where true;
end if;
        if exists (select from pg_attribute
    where attrelid = to_regclass('refresh_state') and attname = 'tenant_id' and attnotnull
      and not attisdropped) then
  delete from refresh_state where tenant_id = '00000000-0000-0000-0000-000000000001' and true;
else
  delete from refresh_state where true;
end if;
        if exists (select from pg_attribute
    where attrelid = to_regclass('entities') and attname = 'tenant_id' and attnotnull
      and not attisdropped) then
  delete from entities where tenant_id = '00000000-0000-0000-0000-000000000001' and true;
else
  delete from entities where true;
end if;
        delete from adoption_faults where source <> 'refresh_state_references';
        return null;
      end if;
      if tg_op = 'DELETE' or tg_op = 'UPDATE' and old.entity_id <> new.entity_id then
        perform adoption_drop_entity(old.entity_id);
      end if;
      if tg_op = 'DELETE' then
        return null;
      elsif new.final_entity is null then
        perform adoption_drop_entity(new.entity_id);
      else
        perform adoption_put_entity(new.entity_id, new.entity_ref, new.final_entity,
          new.hash, new.last_updated_at);
      end if;
      exit;
    exception when others then
      if attempt = 3 or not sqlstate ~ '^(40|42|55)' then
        begin
          perform adoption_note('final_entities', case when tg_op <> 'TRUNCATE'
            then to_jsonb(case when tg_op = 'DELETE' then old else new end) ->> 'entity_id' end, sqlerrm, sqlstate);
        exception when others then
          raise warning 'catalog-tenancy: a change of final_entities is not carried: %', sqlerrm;
        end;
        exit;
      end if;
    end;
  end loop;
  return null;
end $$;

create or replace function adoption_on_relations()
returns trigger language plpgsql security definer set search_path = pg_catalog, tenancy, pg_temp as $$
declare
  v_ids text[];
  v_id text;
begin
  if tg_op = 'TRUNCATE' then
    if exists (select from pg_attribute
    where attrelid = to_regclass('relations') and attname = 'tenant_id' and attnotnull
      and not attisdropped) then
  delete from relations where tenant_id = '00000000-0000-0000-0000-000000000001' and true;
else
  delete from relations where true;
end if;
    return null;
  elsif tg_op = 'INSERT' then
    v_ids := array(select distinct originating_entity_id from new_rows);
  elsif tg_op = 'DELETE' then
    v_ids := array(select distinct originating_entity_id from old_rows);
  else
    v_ids := array(select originating_entity_id from new_rows
                    union select originating_entity_id from old_rows);
  end if;
  foreach v_id in array v_ids loop
    for attempt in 1 .. 3 loop
    begin
      perform adoption_put_relations(v_id);
      exit;
    exception when others then
      if attempt = 3 or not sqlstate ~ '^(40|42|55)' then
        begin
          perform adoption_note('relations', v_id, sqlerrm, sqlstate);
        exception when others then
          raise warning 'catalog-tenancy: a change of relations is not carried: %', sqlerrm;
        end;
        exit;
      end if;
    end;
  end loop;
  end loop;
  return null;
exception when others then
  begin
    perform adoption_note('relations', '*', sqlerrm, sqlstate);
  exception when others then
    raise warning 'catalog-tenancy: a change of relations is not carried: %', sqlerrm;
  end;
  return null;
end $$;

create or replace function adoption_on_refresh_state()
returns trigger language plpgsql security definer set search_path = pg_catalog, tenancy, pg_temp as $$
begin
  for attempt in 1 .. 3 loop
    begin
      if old.location_key is distinct from new.location_key
         or old.errors is distinct from new.errors then
        perform adoption_put_state(new.entity_id, new.location_key, new.errors);
      end if;
      exit;
    exception when others then
      if attempt = 3 or not sqlstate ~ '^(40|42|55)' then
        begin
          perform adoption_note('refresh_state', to_jsonb(new) ->> 'entity_id', sqlerrm, sqlstate);
        exception when others then
          raise warning 'catalog-tenancy: a change of refresh_state is not carried: %', sqlerrm;
        end;
        exit;
      end if;
    end;
  end loop;
  return null;
end $$;

create or replace function adoption_on_refresh_state_references()
returns trigger language plpgsql security definer set search_path = pg_catalog, tenancy, pg_temp as $$
declare
  v_edge record;
begin
  for attempt in 1 .. 3 loop
    begin
      -- Each time: an undo of phase 5 may have dropped it while the attempt waited for it.
      if to_regclass('entity_parents') is null then
        return null;
      end if;
      if current_setting('transaction_isolation') <> 'read committed' then
        perform adoption_check_snapshot();
      end if;
      if tg_op = 'TRUNCATE' then
        delete from entity_parents where tenant_id = '00000000-0000-0000-0000-000000000001'::uuid;
        return null;
      end if;
      if tg_op <> 'INSERT' then
        for v_edge in select distinct source_entity_ref, target_entity_ref
                        from old_rows where source_entity_ref is not null loop
          perform adoption_put_parent(v_edge.source_entity_ref, v_edge.target_entity_ref);
        end loop;
      end if;
      if tg_op = 'INSERT' then
        insert into entity_parents (tenant_id, entity_ref, parent_entity_ref)
        select '00000000-0000-0000-0000-000000000001'::uuid, target_entity_ref, source_entity_ref
          from new_rows where source_entity_ref is not null;
      elsif tg_op = 'UPDATE' then
        for v_edge in select distinct source_entity_ref, target_entity_ref
                        from new_rows where source_entity_ref is not null loop
          perform adoption_put_parent(v_edge.source_entity_ref, v_edge.target_entity_ref);
        end loop;
      end if;
      exit;
    exception when others then
      if attempt = 3 or not sqlstate ~ '^(40|42|55)' then
        begin
          perform adoption_note('refresh_state_references', null, sqlerrm, sqlstate);
        exception when others then
          raise warning 'catalog-tenancy: a change of refresh_state_references is not carried: %', sqlerrm;
        end;
        exit;
      end if;
    end;
  end loop;
  return null;
end $$;
