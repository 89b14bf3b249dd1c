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
 * The function that carries what a row of \`refresh_state\` tells about an entity that
 * is carried: which location owns it, and what went wrong.
 */
export function createPutState(target: Target): string {
  return `create or replace function adoption_put_state(
  p_id text, p_location_key text, p_errors text)
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
  if not adoption_is_carried(v_id) then
    return;
  end if;
  for attempt in 1 .. 3 loop
    ${byTenant(
      'refresh_state',
      ({
        where,
      }) => `update refresh_state set location_key = p_location_key, errors = v_errors
   where ${where()}entity_id = v_id`,
    )}
    v_found := found;
    exit when v_found;
    ${byTenant(
      'refresh_state',
      ({
        column,
        value,
      }) => `insert into refresh_state (${column}entity_id, location_key, errors)
  values (${value}v_id, p_location_key, v_errors)
  on conflict do nothing`,
    )}
    v_found := found;
    exit when v_found;
  end loop;
  if not v_found then
    raise exception 'another row is in the way of the refresh state'
      using errcode = 'serialization_failure';
  end if;
  delete from ${FAULTS} where source = 'refresh_state' and key = p_id;
end $$`;
}

/**
 * The function of the trigger of \`refresh_state\`. An entity that is new there has not
 * been stitched, and one that is deleted takes its row in \`final_entities\` along, so that only
 * updates count.
 * Nearly all of those are about when the entity is due, and end with the comparison.
 */
export function createOnRefreshState(target: Target): string {
  return `create or replace function adoption_on_refresh_state()
returns trigger language plpgsql security definer ${functionSettings(
    target,
  )} as $$
begin
  ${attempted({
    table: 'refresh_state',
    key: `to_jsonb(new) ->> 'entity_id'`,
    statements: `if old.location_key is distinct from new.location_key
         or old.errors is distinct from new.errors then
        perform adoption_put_state(new.entity_id, new.location_key, new.errors);
      end if;`,
  })}
  return null;
end $$`;
}
