import { ENTITY_KEY } from '../../schema/tables';
import { FAULTS } from '../state';
import { IS_LIMITED, RELEASE, RESERVE } from './quota';
import {
  attempted,
  CHECK_SNAPSHOT,
  ENGINE_PARAMETERS,
  engineSql,
  functionSettings,
  onEngine,
  TRIGGER_TENANT,
  untilNothingIsLeft,
  UUID_PATTERN,
} from './support';
import type { Target } from './support';

const REF_PATTERN = `'^([^:/]+):([^:/]+)/([^:/]+)$'`;

/**
 * The function that carries one entity: a row of `final_entities`, and when it inserts
 * that, the entity's relations and refresh state.
 *
 * The engine changes those two in a transaction that has locked the entity's row in
 * its `refresh_state` for an update. FOR SHARE waits for such a transaction, and
 * blocks the next one until ours has ended. So either we read what that transaction
 * has committed, or its trigger finds the entity here and carries the change. This
 * cannot deadlock: a transaction that updates that row never waits for
 * `final_entities`, and one that deletes it already waits for the engine's own insert,
 * whose foreign key locks the same row.
 *
 * There are two unique keys, and a conflict target names one: the loop tries the update again
 * after an insert that conflicts.
 */
export function createPutEntity(target: Target): string {
  const update = (which: string) => `update entities
     set entity_ref = p_ref, entity_kind = v_kind, entity_namespace = v_namespace,
         entity_name = v_name, final_entity = v_entity, hash = p_hash,
         updated_at = v_updated_at, deleted_at = null
   where tenant_id = p_tenant and entity_id = v_id and ${which};`;
  return `create or replace function adoption_put_entity(
  ${ENGINE_PARAMETERS}, p_id text, p_ref text, p_entity text, p_hash text, p_updated_at timestamptz)
returns void language plpgsql ${functionSettings(target)} as $$
declare
  v_id uuid;
  v_entity jsonb := p_entity::jsonb;
  v_updated_at timestamptz := coalesce(p_updated_at, 'epoch');
  v_parts text[] := regexp_match(p_ref, ${REF_PATTERN});
  -- Citus 13 ends the server process at an UPDATE that sets a column to an element.
  v_kind text := v_parts[1];
  v_namespace text := v_parts[2];
  v_name text := v_parts[3];
  v_other uuid;
  v_found boolean := false;
begin
  if p_id !~ ${UUID_PATTERN} then
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
  ${CHECK_SNAPSHOT}
  v_id := p_id::uuid;
  for attempt in 1 .. 3 loop
    -- First a row that is live: it is counted already.
    ${update('deleted_at is null')}
    v_found := found;
    exit when v_found;
    ${onEngine(
      'select from ENGINE.refresh_state where entity_id = $2 for share',
      {
        values: ['p_id'],
      },
    )};
    -- In a loop: Citus would call the function on the node that has the row.
    for v_other in select entity_id from entities
      where tenant_id = p_tenant and entity_ref = p_ref and entity_id <> v_id
    loop
      perform adoption_forget_entity(p_tenant, p_engine, v_other);
    end loop;
    ${RESERVE}
    ${update('deleted_at is not null')}
    v_found := found;
    exit when v_found;
    insert into entities (tenant_id, entity_id, entity_ref, entity_kind,
      entity_namespace, entity_name, final_entity, hash, created_at, updated_at)
    values (p_tenant, v_id, p_ref, v_kind,
      v_namespace, v_name, v_entity, p_hash, v_updated_at, v_updated_at)
    on conflict do nothing;
    v_found := found;
    if v_found then
      perform adoption_put_rest(p_tenant, p_engine, p_id);
      exit;
    end if;
  end loop;
  if not v_found then
    raise exception 'another row is in the way of the entity'
      using errcode = 'serialization_failure';
  end if;
  delete from ${FAULTS}
   where tenant_id = p_tenant and source = 'final_entities' and key = p_id;
end $$`;
}

/** The function that carries the relations and the refresh state of an entity. */
export function createPutRest(target: Target): string {
  return `create or replace function adoption_put_rest(${ENGINE_PARAMETERS}, p_id text)
returns void language plpgsql ${functionSettings(target)} as $$
declare
  v_state record;
begin
  begin
    perform adoption_put_relations(p_tenant, p_engine, p_id);
  exception when others then
    perform adoption_note(p_tenant, p_engine, 'relations', p_id, sqlerrm, sqlstate);
  end;
  begin
    for v_state in execute ${engineSql(
      'select location_key, errors from ENGINE.refresh_state where entity_id = $1',
    )} using p_id
    loop
      perform adoption_put_state(
        p_tenant, p_engine, p_id, v_state.location_key, v_state.errors);
    end loop;
  exception when others then
    perform adoption_note(p_tenant, p_engine, 'refresh_state', p_id, sqlerrm, sqlstate);
  end;
end $$`;
}

// Referencing tables first.
const CARRIED_TABLES = ['relations', 'refresh_state', 'entities'] as const;

/**
 * The function that deletes our rows of an entity. It does not rely on cascading foreign
 * keys, which do nothing under `session_replication_role = replica`.
 */
export function createForgetEntity(target: Target): string {
  return `create or replace function adoption_forget_entity(
  ${ENGINE_PARAMETERS}, p_id uuid)
returns void language plpgsql ${functionSettings(target)} as $$
begin
  ${CARRIED_TABLES.map(
    table =>
      `delete from ${table} where tenant_id = p_tenant and ${ENTITY_KEY[table]} = p_id;`,
  ).join('\n  ')}
  ${RELEASE}
end $$`;
}

/** The function that removes an entity, with what hangs on it. */
export function createDropEntity(target: Target): string {
  return `create or replace function adoption_drop_entity(${ENGINE_PARAMETERS}, p_id text)
returns void language plpgsql ${functionSettings(target)} as $$
begin
  ${CHECK_SNAPSHOT}
  if p_id ~ ${UUID_PATTERN} then
    -- Fails where the transaction may be older than the row that it would have to delete.
    perform adoption_is_carried(p_tenant, p_id::uuid);
    perform adoption_forget_entity(p_tenant, p_engine, p_id::uuid);
  end if;
  delete from ${FAULTS} where tenant_id = p_tenant and key = p_id
    and source in ('final_entities', 'relations', 'refresh_state');
end $$`;
}

/**
 * The function that deletes all that a tenant's engine had, when that is truncated. The
 * faults of edges are the edges' own.
 */
export function createClear(target: Target): string {
  return `create or replace function adoption_clear(${ENGINE_PARAMETERS})
returns void language plpgsql ${functionSettings(target)} as $$
begin
  ${CARRIED_TABLES.map(
    table => `delete from ${table} where tenant_id = p_tenant;`,
  ).join('\n  ')}
  ${RELEASE}
  delete from ${FAULTS}
   where tenant_id = p_tenant and source <> 'refresh_state_references';
end $$`;
}

// The columns that are carried, those first that cost least to compare. A WHEN of the trigger would
// be shorter, but PostgreSQL refuses to alter a column that a trigger names.
const UNCHANGED = [
  'hash',
  'last_updated_at',
  'entity_ref',
  'entity_id',
  'final_entity',
]
  .map(column => `old.${column} is not distinct from new.${column}`)
  .join(' and ');

/** The function of the triggers of `final_entities`. */
export function createOnFinalEntities(target: Target): string {
  return `create or replace function adoption_on_final_entities()
returns trigger language plpgsql security definer ${functionSettings(
    target,
  )} as $$
declare
  ${TRIGGER_TENANT}
begin
  ${attempted({
    table: 'final_entities',
    key: `case when tg_op <> 'TRUNCATE'
            then to_jsonb(case when tg_op = 'DELETE' then old else new end) ->> 'entity_id' end`,
    statements: `if tg_op = 'TRUNCATE' then
        perform adoption_clear(v_tenant, v_engine);
        return null;
      end if;
      -- Bookkeeping of the engine is not carried: since catalog-backend 4.0.3 a second UPDATE numbers
      -- each entity at COMMIT, under a lock that all publications wait for.
      if tg_op = 'UPDATE' then
        if ${UNCHANGED} then
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
          new.entity_ref, new.final_entity, new.hash, new.last_updated_at);
      end if;`,
  })}
  return null;
end $$`;
}

const RELATION_COLUMNS = 'source_entity_ref, type, target_entity_ref';

// `$1` is the tenant, `$2` the id of the entity as the engine has it, `$3` as a UUID.
const THEIRS = `select ${RELATION_COLUMNS} from ENGINE.relations where originating_entity_id = $2`;
const OF_ENTITY = 'tenant_id = $1 and originating_entity_id = $3';
const OURS = `select ${RELATION_COLUMNS} from relations where ${OF_ENTITY}`;
const IDS = ['p_id', 'v_id'];

const MAKE_RELATIONS_EQUAL = untilNothingIsLeft({
  statements: `${onEngine(
    `delete from relations
     where ${OF_ENTITY}
       and (source_entity_ref, type, target_entity_ref) in (
         select ${RELATION_COLUMNS} from (${OURS} except all ${THEIRS}) s)`,
    { values: IDS },
  )};
    ${onEngine(
      `insert into relations (tenant_id, originating_entity_id, ${RELATION_COLUMNS})
    select $1, $3, ${RELATION_COLUMNS} from (${THEIRS} except all ${OURS}) s`,
      { values: IDS },
    )};
    ${onEngine(`select exists (${OURS} except all ${THEIRS})`, {
      values: IDS,
      into: 'v_left',
    })};`,
  left: 'v_left',
});

/**
 * The function that makes the relations of an entity equal to the engine's, if the
 * entity is carried.
 *
 * Relations have no key, and may be duplicates. So it deletes all copies of a relation
 * of which there are too many, and then inserts what is missing. Where both sides are
 * equal it changes nothing.
 *
 * A concurrent transaction for which the DELETE waited may have inserted rows that the
 * engine has deleted since: only the next statement sees them.
 */
export function createPutRelations(target: Target): string {
  return `create or replace function adoption_put_relations(
  ${ENGINE_PARAMETERS}, p_id text)
returns void language plpgsql ${functionSettings(target)} as $$
declare
  v_id uuid;
  v_left boolean;
begin
  if p_id !~ ${UUID_PATTERN} then
    return;
  end if;
  ${CHECK_SNAPSHOT}
  v_id := p_id::uuid;
  if not adoption_is_carried(p_tenant, v_id) then
    return;
  end if;
  ${MAKE_RELATIONS_EQUAL};
  delete from ${FAULTS}
   where tenant_id = p_tenant and source = 'relations' and key = p_id;
end $$`;
}

/**
 * The function that says whether an entity is carried. Above READ COMMITTED it fails
 * with 40001 where it finds none: the snapshot may be older than the entity.
 */
export function createIsCarried(target: Target): string {
  return `create or replace function adoption_is_carried(p_tenant uuid, p_id uuid)
returns boolean language plpgsql ${functionSettings(target)} as $$
begin
  perform from entities where tenant_id = p_tenant and entity_id = p_id;
  if not found and current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'the transaction may be older than the entity'
      using errcode = 'serialization_failure';
  end if;
  return found;
end $$`;
}

/** The function that deletes a tenant's relations when the engine's are truncated. */
export function createClearRelations(target: Target): string {
  return `create or replace function adoption_clear_relations(p_tenant uuid)
returns void language plpgsql ${functionSettings(target)} as $$
begin
  delete from relations where tenant_id = p_tenant;
end $$`;
}

/**
 * The function of the triggers of `relations`. PL/pgSQL keeps a copy of it for each trigger,
 * with the plans of its statements: `execute` keeps none.
 */
export function createOnRelations(target: Target): string {
  return `create or replace function adoption_on_relations()
returns trigger language plpgsql security definer ${functionSettings(
    target,
  )} as $$
declare
  ${TRIGGER_TENANT}
  v_ids text[];
  v_id text;
begin
  if tg_op = 'TRUNCATE' then
    perform adoption_clear_relations(v_tenant);
    return null;
  end if;
  execute case tg_op
      when 'INSERT' then 'select array(select distinct originating_entity_id from new_rows)'
      when 'DELETE' then 'select array(select distinct originating_entity_id from old_rows)'
      else 'select array(select originating_entity_id from new_rows
                          union select originating_entity_id from old_rows)'
    end into v_ids;
  foreach v_id in array v_ids loop
    ${attempted({
      table: 'relations',
      key: 'v_id',
      statements: 'perform adoption_put_relations(v_tenant, v_engine, v_id);',
    })}
  end loop;
  return null;
exception when others then
  begin
    perform adoption_note(v_tenant, v_engine, 'relations', '*', sqlerrm, sqlstate);
  exception when others then
    raise warning 'catalog-tenancy: a change of relations is not carried: %', sqlerrm;
  end;
  return null;
end $$`;
}

/**
 * The function that carries a row of `refresh_state` of an entity that is carried: the
 * location that owns the entity, and the errors.
 */
export function createPutState(target: Target): string {
  return `create or replace function adoption_put_state(
  ${ENGINE_PARAMETERS}, p_id text, p_location_key text, p_errors text)
returns void language plpgsql ${functionSettings(target)} as $$
declare
  v_id uuid;
  v_errors jsonb := coalesce(nullif(p_errors, ''), '[]')::jsonb;
  v_found boolean;
begin
  if p_id !~ ${UUID_PATTERN} then
    return;
  end if;
  ${CHECK_SNAPSHOT}
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
  delete from ${FAULTS}
   where tenant_id = p_tenant and source = 'refresh_state' and key = p_id;
end $$`;
}

/**
 * The function of the trigger of `refresh_state`, for updates only: a new entity is not
 * stitched yet, and a deleted one cascades to `final_entities`. Nearly all updates
 * change when the entity is due, and end with the comparison.
 */
export function createOnRefreshState(target: Target): string {
  return `create or replace function adoption_on_refresh_state()
returns trigger language plpgsql security definer ${functionSettings(
    target,
  )} as $$
declare
  ${TRIGGER_TENANT}
begin
  ${attempted({
    table: 'refresh_state',
    key: `to_jsonb(new) ->> 'entity_id'`,
    statements: `if old.location_key is distinct from new.location_key
         or old.errors is distinct from new.errors then
        perform adoption_put_state(
          v_tenant, v_engine, new.entity_id, new.location_key, new.errors);
      end if;`,
  })}
  return null;
end $$`;
}

// `$1` is the tenant, `$2` the ids. Rows that ours may be in the way of are carried one by one.
const INSERT_ENTITIES = `with put as (
    insert into entities (tenant_id, entity_id, entity_ref, entity_kind, entity_namespace,
      entity_name, final_entity, hash, created_at, updated_at)
    select $1, f.id, f.entity_ref, f.parts[1], f.parts[2], f.parts[3], f.entity, f.hash,
           f.updated_at, f.updated_at
      from (select entity_id::uuid as id, entity_ref, hash, final_entity::jsonb as entity,
                   coalesce(last_updated_at, 'epoch') as updated_at,
                   regexp_match(entity_ref, ${REF_PATTERN}) as parts
              from ENGINE.final_entities
             where entity_id = any ($2) and entity_id ~ ${UUID_PATTERN}
               and final_entity is not null) f
     where f.parts is not null and jsonb_typeof(f.entity) = 'object'
       and not exists (select from entities e where e.tenant_id = $1 and e.entity_id = f.id)
       and not exists (select from entities e where e.tenant_id = $1 and e.entity_ref = f.entity_ref)
    returning entity_id)
  select array_agg(entity_id::text) from put`;

const INSERT_RELATIONS = `insert into relations (tenant_id, originating_entity_id, ${RELATION_COLUMNS})
  select $1, originating_entity_id::uuid, ${RELATION_COLUMNS} from ENGINE.relations
   where originating_entity_id = any ($2)`;

const INSERT_STATES = `insert into refresh_state (tenant_id, entity_id, location_key, errors)
  select $1, entity_id::uuid, location_key, coalesce(nullif(errors, ''), '[]')::jsonb
    from ENGINE.refresh_state where entity_id = any ($2)`;

/**
 * The function that carries a batch of entities in the order of their ids, and returns
 * the last id and the number of rows.
 *
 * Both sides of the join name where the batch begins: PostgreSQL concludes it from one for the
 * other with `=` alone, and would read the other from its beginning for each batch.
 *
 * FOR SHARE on the rows of the engine: its writes to them wait for the end of the batch,
 * which is short. SKIP LOCKED: a batch that holds many rows must not wait for rows that
 * the engine has locked; `reconcileEntities` carries those one by one.
 *
 * Entities of the default tenant that ours lacks are inserted by one statement for each table,
 * which takes a fraction of the time. Where one of them is refused, and for other tenants,
 * whose quota counts each insert, they are carried one by one.
 */
export function createCopy(target: Target): string {
  return `create or replace function adoption_copy(
  ${ENGINE_PARAMETERS}, p_after text, p_rows int, out last text, out rows int)
language plpgsql ${functionSettings(target)} as $$
declare
  v_ids text[];
  v_put text[];
  v_id text;
begin
  ${onEngine(
    `select array_agg(id order by id) from (
      select f.entity_id as id from ENGINE.final_entities f
        join ENGINE.refresh_state s on s.entity_id = f.entity_id
       where f.entity_id > $2 and s.entity_id > $2
       order by f.entity_id limit $3
         for share of f, s skip locked) locked`,
    { values: ['p_after', 'p_rows'], into: 'v_ids' },
  )};
  rows := coalesce(cardinality(v_ids), 0);
  if rows = 0 then
    return;
  end if;
  last := v_ids[rows];
  if not ${IS_LIMITED} then
    begin
      ${onEngine(INSERT_ENTITIES, { values: ['v_ids'], into: 'v_put' })};
      ${onEngine(INSERT_RELATIONS, { values: ['v_put'] })};
      ${onEngine(INSERT_STATES, { values: ['v_put'] })};
    exception when others then
      v_put := null;
    end;
  end if;
  foreach v_id in array v_ids loop
    if v_put is null or v_id <> all (v_put) then
      perform adoption_put(p_tenant, p_engine, v_id);
    end if;
  end loop;
end $$`;
}

/**
 * The function that makes one entity, its relations and its refresh state equal to the
 * engine's. It waits for the engine's rows before it locks any of ours.
 */
export function createPut(target: Target): string {
  return `create or replace function adoption_put(${ENGINE_PARAMETERS}, p_id text)
returns void language plpgsql ${functionSettings(target)} as $$
declare
  v_row record;
begin
  ${onEngine(
    'select from ENGINE.refresh_state where entity_id = $2 for share',
    {
      values: ['p_id'],
    },
  )};
  ${onEngine(
    `select entity_ref, final_entity, hash, last_updated_at
       from ENGINE.final_entities where entity_id = $2 for share`,
    { values: ['p_id'], into: 'v_row' },
  )};
  if v_row.final_entity is null then
    perform adoption_drop_entity(p_tenant, p_engine, p_id);
    return;
  end if;
  begin
    perform adoption_put_entity(p_tenant, p_engine, p_id, v_row.entity_ref,
      v_row.final_entity, v_row.hash, v_row.last_updated_at);
  exception when data_exception or integrity_constraint_violation
              or program_limit_exceeded or serialization_failure then
    perform adoption_note(p_tenant, p_engine, 'final_entities', p_id, sqlerrm, sqlstate);
    return;
  end;
  perform adoption_put_rest(p_tenant, p_engine, p_id);
end $$`;
}
