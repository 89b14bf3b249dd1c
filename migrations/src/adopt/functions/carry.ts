import { engineTable } from '../engine';
import { FAULTS } from '../names';
import {
  attempted,
  byTenant,
  CHECK_SNAPSHOT,
  functionSettings,
  UUID_PATTERN,
} from './support';
import type { Target } from './support';

/**
 * The function that carries one entity: a row of `final_entities`, and with the first
 * of it the entity's relations and refresh state.
 *
 * The engine changes those two in a transaction that has locked the entity's row in
 * its `refresh_state` for an update. FOR SHARE waits for such a transaction, and
 * keeps the next one waiting until ours has ended, so that either we read what it
 * has committed, or it finds the entity here and carries the change itself. Nobody can wait in a
 * circle: whoever updates that row never waits for `final_entities`, and who deletes
 * it was waiting for the engine's own insert already, whose foreign key locks the same row.
 *
 * No conflict target would do on both sides of the swap of phase 5, so that an insert that
 * meets another one is followed by an update again.
 */
export function createPutEntity(target: Target): string {
  return `create or replace function adoption_put_entity(
  p_id text, p_ref text, p_entity text, p_hash text, p_updated_at timestamptz)
returns void language plpgsql ${functionSettings(target)} as $$
declare
  v_id uuid;
  v_entity jsonb := p_entity::jsonb;
  v_updated_at timestamptz := coalesce(p_updated_at, 'epoch');
  v_parts text[] := regexp_match(p_ref, '^([^:/]+):([^:/]+)/([^:/]+)$');
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
    ${byTenant(
      'entities',
      ({ where }) => `update entities
     set entity_ref = p_ref, entity_kind = v_parts[1], entity_namespace = v_parts[2],
         entity_name = v_parts[3], final_entity = v_entity, hash = p_hash,
         updated_at = v_updated_at, deleted_at = null
   where ${where()}entity_id = v_id`,
    )}
    v_found := found;
    exit when v_found;
    perform from ${engineTable(target.engine, 'refresh_state')}
      where entity_id = p_id for share;
    ${byTenant(
      'entities',
      ({ where }) =>
        `perform adoption_forget_entity(entity_id) from entities
   where ${where()}entity_ref = p_ref and entity_id <> v_id`,
    )}
    ${byTenant(
      'entities',
      ({
        column,
        value,
      }) => `insert into entities (${column}entity_id, entity_ref, entity_kind,
    entity_namespace, entity_name, final_entity, hash, created_at, updated_at)
  values (${value}v_id, p_ref, v_parts[1],
    v_parts[2], v_parts[3], v_entity, p_hash, v_updated_at, v_updated_at)
  on conflict do nothing`,
    )}
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
  delete from ${FAULTS} where source = 'final_entities' and key = p_id;
end $$`;
}

/** The function that carries the relations and the refresh state of an entity. */
export function createPutRest(target: Target): string {
  return `create or replace function adoption_put_rest(p_id text)
returns void language plpgsql ${functionSettings(target)} as $$
begin
  begin
    perform adoption_put_relations(p_id);
  exception when others then
    perform adoption_note('relations', p_id, sqlerrm, sqlstate);
  end;
  begin
    perform adoption_put_state(s.entity_id, s.location_key, s.errors)
       from ${engineTable(
         target.engine,
         'refresh_state',
       )} s where s.entity_id = p_id;
  exception when others then
    perform adoption_note('refresh_state', p_id, sqlerrm, sqlstate);
  end;
end $$`;
}

// What hangs on an entity, before the entity.
const TABLES = ['relations', 'refresh_state', 'entities'] as const;

/**
 * The function that deletes our rows of an entity. It leaves none to the foreign
 * keys: those do nothing in a session that plays a replica.
 */
export function createForgetEntity(target: Target): string {
  return `create or replace function adoption_forget_entity(p_id uuid)
returns void language plpgsql ${functionSettings(target)} as $$
begin
  ${TABLES.map(table =>
    byTenant(table, ({ where }) => {
      const id = table === 'relations' ? 'originating_entity_id' : 'entity_id';
      return `delete from ${table} where ${where()}${id} = p_id`;
    }),
  ).join('\n  ')}
end $$`;
}

/** The function that removes an entity, with what hangs on it. */
export function createDropEntity(target: Target): string {
  return `create or replace function adoption_drop_entity(p_id text)
returns void language plpgsql ${functionSettings(target)} as $$
begin
  ${CHECK_SNAPSHOT}
  if p_id ~ ${UUID_PATTERN} then
    perform adoption_forget_entity(p_id::uuid);
  end if;
  delete from ${FAULTS} where key = p_id
    and source in ('final_entities', 'relations', 'refresh_state');
end $$`;
}

/** The function of the triggers of \`final_entities\`. */
export function createOnFinalEntities(target: Target): string {
  return `create or replace function adoption_on_final_entities()
returns trigger language plpgsql security definer ${functionSettings(
    target,
  )} as $$
begin
  ${attempted({
    table: 'final_entities',
    key: `case when tg_op <> 'TRUNCATE'
            then to_jsonb(case when tg_op = 'DELETE' then old else new end) ->> 'entity_id' end`,
    statements: `if tg_op = 'TRUNCATE' then
        ${TABLES.map(table =>
          byTenant(
            table,
            ({ where }) => `delete from ${table} where ${where()}true`,
          ),
        ).join('\n        ')}
        delete from ${FAULTS} where source <> 'refresh_state_references';
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
      end if;`,
  })}
  return null;
end $$`;
}
