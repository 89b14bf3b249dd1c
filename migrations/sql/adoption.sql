-- The tables and functions of adoption: triggers on the tables of a catalog engine carry what it
-- writes to the rows of its tenant, in the transaction of each change.
--
-- :"schema" and :'schema' stand for the schema of the tenants' tables, as psql has it. The file
-- can be run again, and then replaces the functions.
--
-- One set of functions serves all tenants: most take the tenant, and the schema of its engine's
-- tables. Only format() puts that name into a statement, as an identifier.
--
-- The settings of the functions:
-- - search_path: pg_temp last, so that a temporary table cannot take the place of one of ours.
-- - row_security: the functions belong to portal_admin, which bypasses row-level security or
--   passes it by a policy. With `off`, which a login may have, that policy makes a query fail.
-- - plan_cache_mode: a generic plan would lock every partition of a table before it finds the one
--   of the tenant; a custom plan names that partition alone. It is why a statement that finds nothing
--   costs as much as others: what is new is inserted without a look at what is there.
--   Functions whose statements read no partitioned table keep their plans.

create table if not exists adoption_faults (
  tenant_id uuid not null default '00000000-0000-0000-0000-000000000001',
  source text not null,
  key text not null,
  reason text not null,
  sqlstate text not null,
  first_seen_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  attempts int not null default 1,
  primary key (tenant_id, source, key)
);
comment on table adoption_faults is 'What of the catalog could not be carried, and why; written by triggers on its tables';

create table if not exists adoption_state (
  tenant_id uuid not null default '00000000-0000-0000-0000-000000000001',
  key text not null,
  value jsonb not null,
  primary key (tenant_id, key)
);

-- What can go wrong

-- Records an adoption fault, and deletes our rows of what it is about: the tenant shows no
-- outdated data. It never fails, because the engine's write must not.
create or replace function adoption_note(
  p_tenant uuid, p_engine text, p_source text, p_key text, p_reason text, p_state text)
returns void language plpgsql
set search_path = pg_catalog, :"schema", pg_temp set row_security = on set plan_cache_mode = force_custom_plan
as $$
declare
  -- A row of its own for each session where no entity is known: those that wrote to the same one
  -- would wait for each other, and for what both have locked.
  v_key text := case when p_key is null or p_key = '*'
    then '* of process ' || pg_backend_pid() else p_key end;
begin
  begin
    if p_key ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then
      if p_source = 'final_entities' then
        perform adoption_forget_entity(p_tenant, p_engine, p_key::uuid);
      elsif p_source = 'relations' then
        delete from relations
         where tenant_id = p_tenant and originating_entity_id = p_key::uuid;
      elsif p_source = 'refresh_state' then
        delete from refresh_state
         where tenant_id = p_tenant and entity_id = p_key::uuid;
      end if;
    end if;
  exception when others then
    raise warning 'catalog-tenancy: % % stays as it was: %', p_source, p_key, sqlerrm;
  end;
  insert into adoption_faults as f (tenant_id, source, key, reason, sqlstate)
  values (p_tenant, p_source, v_key, p_reason, p_state)
  on conflict (tenant_id, source, key) do update
    set reason = excluded.reason, sqlstate = excluded.sqlstate,
        last_seen_at = now(), attempts = f.attempts + 1;
exception when others then
  raise warning 'catalog-tenancy: % % is not carried: % (and that is not kept: %)',
    p_source, p_key, p_reason, sqlerrm;
end $$;

-- Fails with 40001 in a transaction above READ COMMITTED whose snapshot is older than a swap of
-- our tables: rows would seem to be missing from the new ones.
--
-- The lock waits for a swap that is under way; it leaves the partitions out, which may be many.
-- After it, to_regclass finds the present table, and the query of pg_class the one of the
-- snapshot.
create or replace function adoption_check_snapshot()
returns void language plpgsql
set search_path = pg_catalog, :"schema", pg_temp set row_security = on set plan_cache_mode = force_custom_plan
as $$
begin
  if current_setting('transaction_isolation') = 'read committed' then
    return;
  end if;
  lock table only entities in access share mode;
  if to_regclass('entities') is distinct from (
       select c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where c.relname = 'entities' and n.nspname = :'schema') then
    raise exception 'the transaction is older than the tables'
      using errcode = 'serialization_failure';
  end if;
end $$;

-- Converts text to jsonb, or returns null where it is not JSON.
create or replace function adoption_json(p_text text)
returns jsonb language plpgsql immutable as $$
begin
  return p_text::jsonb;
exception when others then
  return null;
end $$;

-- Whether an entity is carried: then it has terms. Their table is not partitioned, so one plan for
-- each session is enough. Above READ COMMITTED it fails with 40001 where it finds none: the snapshot
-- may be older than the entity.
create or replace function adoption_is_carried(p_tenant uuid, p_id uuid)
returns boolean language plpgsql
set search_path = pg_catalog, :"schema", pg_temp set row_security = on set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
begin
  perform from entity_terms where tenant_id = p_tenant and entity_id = p_id limit 1;
  if not found and current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'the transaction may be older than the entity'
      using errcode = 'serialization_failure';
  end if;
  return found;
end $$;

-- Forgets the faults of what is carried now. Their table is not partitioned either.
create or replace function adoption_forget_faults(p_tenant uuid, p_sources text[], p_key text)
returns void language plpgsql
set search_path = pg_catalog, :"schema", pg_temp set row_security = on set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
begin
  delete from adoption_faults
   where tenant_id = p_tenant and source = any (p_sources) and key = p_key;
end $$;

-- The limit of a tenant

-- Fails with 54000 where a tenant may have no further entity. The default tenant has no limit.
--
-- A sequence beside the engine's tables spares most inserts a count of the tenant's entities. It
-- is no part of a transaction, so every session sees the present value:
-- - below 4503599627370496: no fewer than the live entities of the tenant, those of open
--   transactions included. An insert adds one before it is made, and a rollback takes nothing back;
-- - from there on: the time, in milliseconds, at which a count found no room. For a second nothing
--   is counted again.
--
-- Every insert shares an advisory lock to the end of its transaction. A count needs it
-- exclusively: then no insert is under way that the count could not see. It gives it back at once,
-- because a lock that a subtransaction took goes with its rollback. 7008 is beside the lock of the
-- operator, 7007.
--
-- It never waits for the lock but tries, for at most 0.2 s: a session that waits for a row of ours
-- could otherwise be chosen as the victim of a deadlock, and that is the engine's. Where it has no
-- success, it fails with 40001: the trigger tries again, and records a fault in the end.
create or replace function adoption_reserve(p_tenant uuid, p_engine text)
returns void language plpgsql
set search_path = pg_catalog, :"schema", pg_temp set row_security = on set plan_cache_mode = force_custom_plan
as $$
declare
  c_counted constant bigint := 4503599627370496;
  v_sequence regclass;
  v_max bigint;
  v_value bigint;
  v_live bigint;
  v_counted boolean;
begin
  if p_tenant = '00000000-0000-0000-0000-000000000001' then
    return;
  end if;
  v_sequence := to_regclass(format('%I.tenancy_adoption_quota', p_engine));
  -- Copies of what others share count apart.
  select max_entities + (select coalesce(sum(copies), 0) from tenant_share_copies
                          where tenant_id = p_tenant)
    into v_max from tenants where tenant_id = p_tenant;
  if v_max is null then
    return;
  end if;
  if v_sequence is null then
    raise exception 'the sequence tenancy_adoption_quota of the engine is missing'
      using errcode = 'check_violation';
  end if;
  for pass in 1 .. 20 loop
    v_value := coalesce(pg_sequence_last_value(v_sequence), c_counted);
    v_counted := false;
    if v_value < v_max then
      if pg_try_advisory_xact_lock_shared(7008, hashtext(p_tenant::text))
         and nextval(v_sequence) <= v_max then
        return;
      end if;
    elsif (extract(epoch from clock_timestamp()) * 1000)::bigint - (v_value - c_counted)
          between 0 and 1000 then
      raise exception 'the tenant has as many entities as it may have: % (max_entities)', v_max
        using errcode = '54000';
    elsif current_setting('transaction_isolation') <> 'read committed' then
      raise exception 'the transaction may not see all entities of the tenant'
        using errcode = 'serialization_failure';
    else
      begin
        if pg_try_advisory_xact_lock(7008, hashtext(p_tenant::text)) then
          select count(*) into v_live from entities
           where tenant_id = p_tenant and deleted_at is null;
          perform setval(v_sequence, case when v_live < v_max then v_live
            else c_counted + (extract(epoch from clock_timestamp()) * 1000)::bigint end);
          raise exception using errcode = 'TQ000', message = 'counted';
        end if;
      exception when sqlstate 'TQ000' then
        v_counted := true;
      end;
    end if;
    if not v_counted then
      perform pg_sleep(0.01);
    end if;
  end loop;
  raise exception 'the entities of the tenant could not be counted beside other writes'
    using errcode = 'serialization_failure';
end $$;

-- Lets the next insert count again, where the last count found no room.
create or replace function adoption_release(p_engine text)
returns void language plpgsql
set search_path = pg_catalog, :"schema", pg_temp set row_security = on set plan_cache_mode = force_custom_plan
as $$
declare
  v_sequence regclass := to_regclass(format('%I.tenancy_adoption_quota', p_engine));
begin
  if pg_sequence_last_value(v_sequence) > 4503599627370496 then
    perform setval(v_sequence, 4503599627370496);
  end if;
end $$;

-- Entities

-- Makes the relations of an entity equal to the engine's, if the entity is carried.
--
-- Relations have no key, and may be duplicates. So it deletes all copies of a relation of which
-- there are too many, and then inserts what is missing. Where both sides are equal it changes
-- nothing.
--
-- A concurrent transaction for which the DELETE waited may have inserted rows that the engine has
-- deleted since: only the next statement sees them. Such rows go within a pass or two. Rows that a
-- foreign trigger keeps from being deleted must not block the engine for ever.
--
-- After an INSERT of the engine none can be too many.
create or replace function adoption_put_relations(
  p_tenant uuid, p_engine text, p_id text, p_only_more boolean)
returns void language plpgsql
set search_path = pg_catalog, :"schema", pg_temp set row_security = on set plan_cache_mode = force_custom_plan
as $$
declare
  v_id uuid;
  v_left boolean;
begin
  if p_id !~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then
    return;
  end if;
  perform adoption_check_snapshot();
  v_id := p_id::uuid;
  if not adoption_is_carried(p_tenant, v_id) then
    return;
  end if;
  for pass in 1 .. 100 loop
    if not p_only_more then
      execute format(
        'delete from relations where tenant_id = $1 and originating_entity_id = $3
            and (source_entity_ref, type, target_entity_ref) in (
              select source_entity_ref, type, target_entity_ref from relations
               where tenant_id = $1 and originating_entity_id = $3
              except all
              select source_entity_ref, type, target_entity_ref from %1$I.relations
               where originating_entity_id = $2)', p_engine)
        using p_tenant, p_id, v_id;
    end if;
    execute format(
      'insert into relations (tenant_id, originating_entity_id, source_entity_ref, type, target_entity_ref)
       select $1, $3, source_entity_ref, type, target_entity_ref from (
         select source_entity_ref, type, target_entity_ref from %1$I.relations
          where originating_entity_id = $2
         except all
         select source_entity_ref, type, target_entity_ref from relations
          where tenant_id = $1 and originating_entity_id = $3) missing', p_engine)
      using p_tenant, p_id, v_id;
    exit when p_only_more;
    execute format(
      'select exists (
         select source_entity_ref, type, target_entity_ref from relations
          where tenant_id = $1 and originating_entity_id = $3
         except all
         select source_entity_ref, type, target_entity_ref from %1$I.relations
          where originating_entity_id = $2)', p_engine)
      into v_left using p_tenant, p_id, v_id;
    exit when not v_left;
    if pass = 100 then
      raise exception 'rows of the default tenant can''t be deleted';
    end if;
  end loop;
  perform adoption_forget_faults(p_tenant, '{relations}', p_id);
end $$;

-- Carries a row of refresh_state of an entity that is carried: the location that owns the entity,
-- and the errors.
create or replace function adoption_put_state(
  p_tenant uuid, p_engine text, p_id text, p_location_key text, p_errors text)
returns void language plpgsql
set search_path = pg_catalog, :"schema", pg_temp set row_security = on set plan_cache_mode = force_custom_plan
as $$
declare
  v_id uuid;
  v_errors jsonb := coalesce(nullif(p_errors, ''), '[]')::jsonb;
  v_found boolean;
begin
  if p_id !~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then
    return;
  end if;
  perform adoption_check_snapshot();
  v_id := p_id::uuid;
  if not adoption_is_carried(p_tenant, v_id) then
    return;
  end if;
  for attempt in 1 .. 3 loop
    update refresh_state set location_key = p_location_key, errors = v_errors
     where tenant_id = p_tenant and entity_id = v_id;
    v_found := found;
    exit when v_found;
    insert into refresh_state (tenant_id, entity_id, location_key, errors)
    values (p_tenant, v_id, p_location_key, v_errors)
    on conflict do nothing;
    v_found := found;
    exit when v_found;
  end loop;
  if not v_found then
    raise exception 'another row is in the way of the refresh state'
      using errcode = 'serialization_failure';
  end if;
  perform adoption_forget_faults(p_tenant, '{refresh_state}', p_id);
end $$;

-- Carries the relations and the refresh state of an entity.
create or replace function adoption_put_rest(p_tenant uuid, p_engine text, p_id text)
returns void language plpgsql
set search_path = pg_catalog, :"schema", pg_temp set row_security = on set plan_cache_mode = force_custom_plan
as $$
declare
  v_state record;
begin
  begin
    perform adoption_put_relations(p_tenant, p_engine, p_id, false);
  exception when others then
    perform adoption_note(p_tenant, p_engine, 'relations', p_id, sqlerrm, sqlstate);
  end;
  begin
    for v_state in execute format(
      'select location_key, errors from %I.refresh_state where entity_id = $1', p_engine)
      using p_id
    loop
      perform adoption_put_state(
        p_tenant, p_engine, p_id, v_state.location_key, v_state.errors);
    end loop;
  exception when others then
    perform adoption_note(p_tenant, p_engine, 'refresh_state', p_id, sqlerrm, sqlstate);
  end;
end $$;

-- Inserts an entity, unless another row is in the way. To insert, PostgreSQL locks the partition of
-- the row alone, whatever the plan.
create or replace function adoption_insert_entity(
  p_tenant uuid, p_id uuid, p_ref text, p_kind text, p_namespace text, p_name text,
  p_entity jsonb, p_hash text, p_updated_at timestamptz)
returns boolean language plpgsql
set search_path = pg_catalog, :"schema", pg_temp set row_security = on set plan_cache_mode = force_generic_plan
as $$
begin
  insert into entities (tenant_id, entity_id, entity_ref, entity_kind, entity_namespace,
    entity_name, final_entity, hash, created_at, updated_at)
  values (p_tenant, p_id, p_ref, p_kind, p_namespace,
    p_name, p_entity, p_hash, p_updated_at, p_updated_at)
  on conflict do nothing;
  return found;
end $$;

-- Inserts the relations and the refresh state of a new entity. There is nothing of it here: one
-- statement for each table, where adoption_put_rest compares both sides.
-- The checks of the foreign keys are planned by the settings of the function, too.
create or replace function adoption_insert_rest(
  p_tenant uuid, p_engine text, p_id text, p_location_key text, p_errors text)
returns void language plpgsql
set search_path = pg_catalog, :"schema", pg_temp set row_security = on set plan_cache_mode = force_custom_plan
as $$
begin
  execute format(
    'insert into relations (tenant_id, originating_entity_id, source_entity_ref, type, target_entity_ref)
     select $1, $2::uuid, source_entity_ref, type, target_entity_ref
       from %I.relations where originating_entity_id = $2', p_engine)
    using p_tenant, p_id;
  -- Without a foreign key, the engine may have none.
  if p_errors is not null then
    insert into refresh_state (tenant_id, entity_id, location_key, errors)
    values (p_tenant, p_id::uuid, p_location_key, coalesce(nullif(p_errors, ''), '[]')::jsonb);
  end if;
end $$;

-- Carries one entity: a row of final_entities, and when it inserts that, the entity's relations
-- and refresh state.
--
-- The engine changes those two in a transaction that has locked the entity's row in its
-- refresh_state for an update. FOR SHARE waits for such a transaction, and blocks the next one
-- until ours has ended. So either we read what that transaction has committed, or its trigger
-- finds the entity here and carries the change. This cannot deadlock: a transaction that updates
-- that row never waits for final_entities, and one that deletes it already waits for the engine's
-- own insert, whose foreign key locks the same row.
--
-- There are two unique keys, and a conflict target names one: the loop tries the update again
-- after an insert that conflicts. One that is new to the engine is inserted at once: only where
-- that conflicts is it looked for.
create or replace function adoption_put_entity(
  p_tenant uuid, p_engine text, p_id text, p_ref text, p_entity text, p_hash text,
  p_updated_at timestamptz, p_is_new boolean)
returns void language plpgsql
set search_path = pg_catalog, :"schema", pg_temp set row_security = on set plan_cache_mode = force_custom_plan
as $$
declare
  v_id uuid;
  v_entity jsonb := p_entity::jsonb;
  v_updated_at timestamptz := coalesce(p_updated_at, 'epoch');
  v_parts text[] := regexp_match(p_ref, '^([^:/]+):([^:/]+)/([^:/]+)$');
  -- Citus 13 ends the server process at an UPDATE that sets a column to an element.
  v_kind text := v_parts[1];
  v_namespace text := v_parts[2];
  v_name text := v_parts[3];
  v_state record;
  v_other uuid;
  v_found boolean := false;
  v_may_exist boolean;
  v_carried text[] := '{final_entities}';
begin
  -- The engine calls randomUUID(). In upper case or another notation, two of its ids could be the
  -- same UUID.
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
  perform adoption_check_snapshot();
  v_id := p_id::uuid;
  for attempt in 1 .. 3 loop
    v_may_exist := attempt > 1 or not p_is_new;
    if v_may_exist then
      -- First a row that is live: it is counted already.
      update entities
         set entity_ref = p_ref, entity_kind = v_kind, entity_namespace = v_namespace,
             entity_name = v_name, final_entity = v_entity, hash = p_hash,
             updated_at = v_updated_at, deleted_at = null
       where tenant_id = p_tenant and entity_id = v_id and deleted_at is null;
      v_found := found;
      exit when v_found;
    end if;
    execute format(
      'select location_key, errors from %I.refresh_state where entity_id = $1 for share', p_engine)
      into v_state using p_id;
    if v_may_exist then
      -- In a loop: Citus would call the function on the node that has the row.
      for v_other in select entity_id from entities
        where tenant_id = p_tenant and entity_ref = p_ref and entity_id <> v_id
      loop
        perform adoption_forget_entity(p_tenant, p_engine, v_other);
      end loop;
    end if;
    if p_tenant <> '00000000-0000-0000-0000-000000000001' then
      perform adoption_reserve(p_tenant, p_engine);
    end if;
    if v_may_exist then
      update entities
         set entity_ref = p_ref, entity_kind = v_kind, entity_namespace = v_namespace,
             entity_name = v_name, final_entity = v_entity, hash = p_hash,
             updated_at = v_updated_at, deleted_at = null
       where tenant_id = p_tenant and entity_id = v_id and deleted_at is not null;
      v_found := found;
      if v_found then
        -- Nothing of a deleted entity was carried.
        perform adoption_put_rest(p_tenant, p_engine, p_id);
        exit;
      end if;
    end if;
    v_found := adoption_insert_entity(p_tenant, v_id, p_ref, v_kind, v_namespace,
      v_name, v_entity, p_hash, v_updated_at);
    if v_found then
      begin
        perform adoption_insert_rest(p_tenant, p_engine, p_id, v_state.location_key, v_state.errors);
        v_carried := v_carried || '{relations,refresh_state}'::text[];
      exception when others then
        perform adoption_put_rest(p_tenant, p_engine, p_id);
      end;
      exit;
    end if;
  end loop;
  if not v_found then
    raise exception 'another row is in the way of the entity'
      using errcode = 'serialization_failure';
  end if;
  perform adoption_forget_faults(p_tenant, v_carried, p_id);
end $$;

-- Deletes our rows of an entity. The foreign keys cascade, but not under session_replication_role
-- = replica, nor from an entity that is gone. There may be room for another entity at once.
create or replace function adoption_forget_entity(p_tenant uuid, p_engine text, p_id uuid)
returns void language plpgsql
set search_path = pg_catalog, :"schema", pg_temp set row_security = on set plan_cache_mode = force_custom_plan
as $$
declare
  v_found boolean;
begin
  delete from entities where tenant_id = p_tenant and entity_id = p_id;
  v_found := found;
  if v_found and p_tenant <> '00000000-0000-0000-0000-000000000001' then
    perform adoption_release(p_engine);
  end if;
  if not v_found or current_setting('session_replication_role') = 'replica' then
    delete from relations where tenant_id = p_tenant and originating_entity_id = p_id;
    delete from refresh_state where tenant_id = p_tenant and entity_id = p_id;
  end if;
end $$;

-- Removes an entity, with what hangs on it.
create or replace function adoption_drop_entity(p_tenant uuid, p_engine text, p_id text)
returns void language plpgsql
set search_path = pg_catalog, :"schema", pg_temp set row_security = on set plan_cache_mode = force_custom_plan
as $$
begin
  perform adoption_check_snapshot();
  if p_id ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then
    if current_setting('transaction_isolation') <> 'read committed' then
      -- Fails where the transaction may be older than the row that it would have to delete.
      perform adoption_is_carried(p_tenant, p_id::uuid);
    end if;
    perform adoption_forget_entity(p_tenant, p_engine, p_id::uuid);
  end if;
  perform adoption_forget_faults(p_tenant, '{final_entities,relations,refresh_state}', p_id);
end $$;

-- Deletes all that a tenant's engine had, when that is truncated. The faults of edges are the
-- edges' own.
create or replace function adoption_clear(p_tenant uuid, p_engine text)
returns void language plpgsql
set search_path = pg_catalog, :"schema", pg_temp set row_security = on set plan_cache_mode = force_custom_plan
as $$
begin
  delete from relations where tenant_id = p_tenant;
  delete from refresh_state where tenant_id = p_tenant;
  delete from entities where tenant_id = p_tenant;
  if found then
    perform adoption_release(p_engine);
  end if;
  delete from adoption_faults
   where tenant_id = p_tenant and source <> 'refresh_state_references';
end $$;

-- Makes one entity, its relations and its refresh state equal to the engine's. It waits for the
-- engine's rows before it locks any of ours.
create or replace function adoption_put(p_tenant uuid, p_engine text, p_id text)
returns void language plpgsql
set search_path = pg_catalog, :"schema", pg_temp set row_security = on set plan_cache_mode = force_custom_plan
as $$
declare
  v_row record;
begin
  execute format('select from %I.refresh_state where entity_id = $1 for share', p_engine)
    using p_id;
  execute format(
    'select entity_ref, final_entity, hash, last_updated_at
       from %I.final_entities where entity_id = $1 for share', p_engine)
    into v_row using p_id;
  if v_row.final_entity is null then
    perform adoption_drop_entity(p_tenant, p_engine, p_id);
    return;
  end if;
  begin
    perform adoption_put_entity(p_tenant, p_engine, p_id, v_row.entity_ref,
      v_row.final_entity, v_row.hash, v_row.last_updated_at, false);
  exception when data_exception or integrity_constraint_violation
              or program_limit_exceeded or serialization_failure then
    perform adoption_note(p_tenant, p_engine, 'final_entities', p_id, sqlerrm, sqlstate);
    return;
  end;
  perform adoption_put_rest(p_tenant, p_engine, p_id);
end $$;

-- Carries a batch of entities in the order of their ids, and returns the last id and the number of
-- rows.
--
-- Both sides of the join name where the batch begins: PostgreSQL concludes it from one for the
-- other with = alone, and would read the other from its beginning for each batch.
--
-- FOR SHARE on the rows of the engine: its writes to them wait for the end of the batch, which is
-- short. SKIP LOCKED: a batch that holds many rows must not wait for rows that the engine has
-- locked; they are carried one by one later.
--
-- Entities of the default tenant that ours lacks are inserted by one statement for each table,
-- which takes a fraction of the time. Where one of them is refused, and for other tenants, whose
-- quota counts each insert, they are carried one by one.
create or replace function adoption_copy(
  p_tenant uuid, p_engine text, p_after text, p_rows int, out last text, out rows int)
language plpgsql
set search_path = pg_catalog, :"schema", pg_temp set row_security = on set plan_cache_mode = force_custom_plan
as $$
declare
  v_ids text[];
  v_put text[];
  v_id text;
begin
  execute format(
    'select array_agg(id order by id) from (
       select f.entity_id as id from %1$I.final_entities f
         join %1$I.refresh_state s on s.entity_id = f.entity_id
        where f.entity_id > $1 and s.entity_id > $1
        order by f.entity_id limit $2
          for share of f, s skip locked) locked', p_engine)
    into v_ids using p_after, p_rows;
  rows := coalesce(cardinality(v_ids), 0);
  if rows = 0 then
    return;
  end if;
  last := v_ids[rows];
  if p_tenant = '00000000-0000-0000-0000-000000000001' then
    begin
      -- Rows that ours may be in the way of are left out.
      execute format($sql$
        with put as (
          insert into entities (tenant_id, entity_id, entity_ref, entity_kind, entity_namespace,
            entity_name, final_entity, hash, created_at, updated_at)
          select $1, f.id, f.entity_ref, f.parts[1], f.parts[2], f.parts[3], f.entity, f.hash,
                 f.updated_at, f.updated_at
            from (select entity_id::uuid as id, entity_ref, hash, final_entity::jsonb as entity,
                         coalesce(last_updated_at, 'epoch') as updated_at,
                         regexp_match(entity_ref, '^([^:/]+):([^:/]+)/([^:/]+)$') as parts
                    from %I.final_entities
                   where entity_id = any ($2) and final_entity is not null
                     and entity_id ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$') f
           where f.parts is not null and jsonb_typeof(f.entity) = 'object'
             and not exists (select from entities e where e.tenant_id = $1 and e.entity_id = f.id)
             and not exists (select from entities e where e.tenant_id = $1 and e.entity_ref = f.entity_ref)
          returning entity_id)
        select array_agg(entity_id::text) from put $sql$, p_engine)
        into v_put using p_tenant, v_ids;
      execute format(
        'insert into relations (tenant_id, originating_entity_id, source_entity_ref, type, target_entity_ref)
         select $1, originating_entity_id::uuid, source_entity_ref, type, target_entity_ref
           from %I.relations where originating_entity_id = any ($2)', p_engine)
        using p_tenant, v_put;
      execute format(
        'insert into refresh_state (tenant_id, entity_id, location_key, errors)
         select $1, entity_id::uuid, location_key, coalesce(nullif(errors, ''''), ''[]'')::jsonb
           from %I.refresh_state where entity_id = any ($2)', p_engine)
        using p_tenant, v_put;
    exception when others then
      v_put := null;
    end;
  end if;
  foreach v_id in array v_ids loop
    if v_put is null or v_id <> all (v_put) then
      perform adoption_put(p_tenant, p_engine, v_id);
    end if;
  end loop;
end $$;

-- Edges between entities

-- Makes our rows of edges, from entities to those that they have emitted, equal to the engine's,
-- which may be several of each. See adoption_put_relations for the passes. The table is not
-- partitioned: one plan for each session.
create or replace function adoption_put_parents(
  p_tenant uuid, p_engine text, p_parents text[], p_refs text[])
returns void language plpgsql
set search_path = pg_catalog, :"schema", pg_temp set row_security = on set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
begin
  for edge in 1 .. coalesce(cardinality(p_refs), 0) loop
    for pass in 1 .. 100 loop
      delete from entity_parents
       where tenant_id = p_tenant and parent_entity_ref = p_parents[edge] and entity_ref = p_refs[edge];
      exit when not exists (
        select from entity_parents
         where tenant_id = p_tenant and parent_entity_ref = p_parents[edge] and entity_ref = p_refs[edge]);
      if pass = 100 then
        raise exception 'rows of the default tenant can''t be deleted';
      end if;
    end loop;
  end loop;
  execute format(
    'insert into entity_parents (tenant_id, entity_ref, parent_entity_ref)
     select $1, r.target_entity_ref, r.source_entity_ref
       from (select distinct ref, parent from unnest($2, $3) e (ref, parent)) edge
       join %I.refresh_state_references r
         on r.source_entity_ref = edge.parent and r.target_entity_ref = edge.ref', p_engine)
    using p_tenant, p_refs, p_parents;
end $$;

-- Carries a range of edges, under a lock of the engine's rows.
create or replace function adoption_copy_parents(
  p_tenant uuid, p_engine text, p_after bigint, p_rows int)
returns bigint language plpgsql
set search_path = pg_catalog, :"schema", pg_temp set row_security = on set plan_cache_mode = force_custom_plan
as $$
declare
  v_last bigint;
  v_parents text[];
  v_refs text[];
begin
  execute format(
    'select max(id), array_agg(source_entity_ref), array_agg(target_entity_ref) from (
       select id, source_entity_ref, target_entity_ref from %I.refresh_state_references
        where id > $1 and source_entity_ref is not null
        order by id limit $2 for key share skip locked) locked', p_engine)
    into v_last, v_parents, v_refs using p_after, p_rows;
  perform adoption_put_parents(p_tenant, p_engine, v_parents, v_refs);
  return v_last;
end $$;

-- The triggers' functions
--
-- The tenant is the argument of a trigger; one without it is the default tenant's. The schema of
-- the table is of the type name, whose collation is "C". As an argument it would give that
-- collation to all parameters of a function, and no index on a text would match them.
--
-- Each makes three attempts: codes of the classes 40, 42 and 55 may go. A lasting error becomes an
-- adoption fault, or, where that fails too, a warning in the server's log: the engine's write must
-- not fail.

create or replace function adoption_on_final_entities()
returns trigger language plpgsql security definer
set search_path = pg_catalog, :"schema", pg_temp set row_security = on set plan_cache_mode = force_custom_plan
as $$
declare
  v_tenant uuid := coalesce(tg_argv[0], '00000000-0000-0000-0000-000000000001');
  v_engine text collate "default" := tg_table_schema;
begin
  for attempt in 1 .. 3 loop
    begin
      if tg_op = 'TRUNCATE' then
        perform adoption_clear(v_tenant, v_engine);
        return null;
      end if;
      -- Bookkeeping of the engine is not carried: since catalog-backend 4.0.3 a second UPDATE numbers
      -- each entity at COMMIT, under a lock that all publications wait for. The columns that cost
      -- least to compare come first. A WHEN of the trigger would be shorter, but PostgreSQL refuses
      -- to alter a column that a trigger names.
      if tg_op = 'UPDATE' then
        if old.hash is not distinct from new.hash
           and old.last_updated_at is not distinct from new.last_updated_at
           and old.entity_ref is not distinct from new.entity_ref
           and old.entity_id is not distinct from new.entity_id
           and old.final_entity is not distinct from new.final_entity then
          return null;
        end if;
      end if;
      if tg_op = 'DELETE' or tg_op = 'UPDATE' and old.entity_id <> new.entity_id then
        perform adoption_drop_entity(v_tenant, v_engine, old.entity_id);
      end if;
      if tg_op = 'DELETE' then
        return null;
      elsif new.final_entity is null then
        perform adoption_drop_entity(v_tenant, v_engine, new.entity_id);
      else
        perform adoption_put_entity(v_tenant, v_engine, new.entity_id,
          new.entity_ref, new.final_entity, new.hash, new.last_updated_at, tg_op = 'INSERT');
      end if;
      exit;
    exception when others then
      if attempt = 3 or sqlstate !~ '^(40|42|55)' then
        begin
          perform adoption_note(v_tenant, v_engine, 'final_entities', case when tg_op <> 'TRUNCATE'
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

-- PL/pgSQL keeps a copy of a function for each trigger, with the plans of its statements: these
-- are about the changed rows alone, and small.
create or replace function adoption_on_relations()
returns trigger language plpgsql security definer
set search_path = pg_catalog, :"schema", pg_temp set row_security = on set plan_cache_mode = force_custom_plan
as $$
declare
  v_tenant uuid := coalesce(tg_argv[0], '00000000-0000-0000-0000-000000000001');
  v_engine text collate "default" := tg_table_schema;
  v_ids text[];
  v_id text;
begin
  if tg_op = 'TRUNCATE' then
    delete from relations where tenant_id = v_tenant;
    return null;
  end if;
  if tg_op = 'INSERT' then
    select array_agg(distinct originating_entity_id) into v_ids from new_rows;
  elsif tg_op = 'DELETE' then
    select array_agg(distinct originating_entity_id) into v_ids from old_rows;
  else
    select array_agg(originating_entity_id) into v_ids from (
      select originating_entity_id from new_rows
       union
      select originating_entity_id from old_rows) changed;
  end if;
  -- The engine deletes what is there no more and inserts what is new in one statement, mostly nothing.
  if v_ids is null then
    return null;
  end if;
  foreach v_id in array v_ids loop
    for attempt in 1 .. 3 loop
      begin
        perform adoption_put_relations(v_tenant, v_engine, v_id, tg_op = 'INSERT');
        exit;
      exception when others then
        if attempt = 3 or sqlstate !~ '^(40|42|55)' then
          begin
            perform adoption_note(v_tenant, v_engine, 'relations', v_id, sqlerrm, sqlstate);
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
    perform adoption_note(v_tenant, v_engine, 'relations', '*', sqlerrm, sqlstate);
  exception when others then
    raise warning 'catalog-tenancy: a change of relations is not carried: %', sqlerrm;
  end;
  return null;
end $$;

-- For updates only: a new entity is not stitched yet, and a deleted one cascades to final_entities.
-- Nearly all updates change when the entity is due, and end with the comparison.
create or replace function adoption_on_refresh_state()
returns trigger language plpgsql security definer
set search_path = pg_catalog, :"schema", pg_temp set row_security = on set plan_cache_mode = force_custom_plan
as $$
declare
  v_tenant uuid := coalesce(tg_argv[0], '00000000-0000-0000-0000-000000000001');
  v_engine text collate "default" := tg_table_schema;
begin
  for attempt in 1 .. 3 loop
    begin
      if old.location_key is distinct from new.location_key
         or old.errors is distinct from new.errors then
        perform adoption_put_state(
          v_tenant, v_engine, new.entity_id, new.location_key, new.errors);
      end if;
      exit;
    exception when others then
      if attempt = 3 or sqlstate !~ '^(40|42|55)' then
        begin
          perform adoption_note(v_tenant, v_engine, 'refresh_state', to_jsonb(new) ->> 'entity_id', sqlerrm, sqlstate);
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
returns trigger language plpgsql security definer
set search_path = pg_catalog, :"schema", pg_temp set row_security = on set plan_cache_mode = force_custom_plan
as $$
declare
  v_tenant uuid := coalesce(tg_argv[0], '00000000-0000-0000-0000-000000000001');
  v_engine text collate "default" := tg_table_schema;
  v_parents text[];
  v_refs text[];
begin
  for attempt in 1 .. 3 loop
    begin
      perform adoption_check_snapshot();
      if tg_op = 'TRUNCATE' then
        delete from entity_parents where tenant_id = v_tenant;
        return null;
      end if;
      -- By themselves: Citus takes no transition table in a statement that names a distributed one.
      if tg_op = 'INSERT' then
        select array_agg(source_entity_ref), array_agg(target_entity_ref) into v_parents, v_refs
          from new_rows where source_entity_ref is not null;
      elsif tg_op = 'DELETE' then
        select array_agg(source_entity_ref), array_agg(target_entity_ref) into v_parents, v_refs
          from old_rows where source_entity_ref is not null;
      else
        select array_agg(source_entity_ref), array_agg(target_entity_ref) into v_parents, v_refs
          from (select source_entity_ref, target_entity_ref from new_rows
                 union
                select source_entity_ref, target_entity_ref from old_rows) edge
         where source_entity_ref is not null;
      end if;
      if v_refs is null then
        return null;
      elsif tg_op = 'INSERT' then
        execute 'insert into entity_parents (tenant_id, entity_ref, parent_entity_ref)
          select $1, r.ref, r.parent from unnest($2, $3) r (ref, parent)'
          using v_tenant, v_refs, v_parents;
      else
        perform adoption_put_parents(v_tenant, v_engine, v_parents, v_refs);
      end if;
      exit;
    exception when others then
      if attempt = 3 or sqlstate !~ '^(40|42|55)' then
        begin
          perform adoption_note(v_tenant, v_engine, 'refresh_state_references', null, sqlerrm, sqlstate);
        exception when others then
          raise warning 'catalog-tenancy: a change of refresh_state_references is not carried: %', sqlerrm;
        end;
        exit;
      end if;
    end;
  end loop;
  return null;
end $$;
