import { engineTable } from '../engine';
import { functionSettings } from './support';
import type { Target } from './support';

/**
 * The function that carries a batch of entities in the order of their ids, and returns the last
 * of them and how many there were.
 *
 * FOR SHARE on the rows of the engine: what it changes in them waits for the end of the
 * batch, which is short. SKIP LOCKED: a batch holds many rows, so that it must not
 * wait for any that the engine has; those are carried one by one afterwards.
 */
export function createCopy(target: Target): string {
  return `create or replace function adoption_copy(
  p_after text, p_rows int, out last text, out rows int)
language plpgsql ${functionSettings(target)} as $$
declare
  v_id text;
begin
  rows := 0;
  for v_id in
    select f.entity_id
      from ${engineTable(target.engine, 'final_entities')} f
      join ${engineTable(
        target.engine,
        'refresh_state',
      )} s on s.entity_id = f.entity_id
     where f.entity_id > p_after
     order by f.entity_id limit p_rows
       for share of f, s skip locked
  loop
    perform adoption_put(v_id);
    last := v_id;
    rows := rows + 1;
  end loop;
end $$`;
}

/**
 * The function that carries one entity with all that hangs on it, as the engine has
 * it, whatever was there before. It waits for the engine's rows while it holds none.
 */
export function createPut(target: Target): string {
  return `create or replace function adoption_put(p_id text)
returns void language plpgsql ${functionSettings(target)} as $$
declare
  v_row record;
begin
  perform from ${engineTable(target.engine, 'refresh_state')}
    where entity_id = p_id for share;
  select * into v_row from ${engineTable(target.engine, 'final_entities')}
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
end $$`;
}

/** The function that converts, and returns null for what can't be converted. */
export function createJson(): string {
  return `create or replace function adoption_json(p_text text)
returns jsonb language plpgsql immutable as $$
begin
  return p_text::jsonb;
exception when others then
  return null;
end $$`;
}
