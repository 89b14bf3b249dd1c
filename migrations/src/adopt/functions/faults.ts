import { escapeLiteral } from '../../sql';
import { FAULTS, UNKNOWN_KEY } from '../names';
import { byTenant, functionSettings, UUID_PATTERN } from './support';
import type { Target } from './support';

/**
 * The function that keeps aside what can't be carried, with the reason, and takes
 * away what was carried of it before: nothing is shown that is not so any more.
 *
 * It never fails, because the engine's write must not.
 */
export function createNote(target: Target): string {
  return `create or replace function adoption_note(
  p_source text, p_key text, p_reason text, p_state text)
returns void language plpgsql ${functionSettings(target)} as $$
declare
  -- A row of its own for each session where no entity is known: those that wrote to the
  -- same one would wait for each other, and for what both have locked.
  v_key text := case when p_key is null or p_key = '*'
    then '${UNKNOWN_KEY} of process ' || pg_backend_pid() else p_key end;
begin
  begin
    if p_key ~ ${UUID_PATTERN} then
      if p_source = 'final_entities' then
        perform adoption_forget_entity(p_key::uuid);
      elsif p_source = 'relations' then
        ${byTenant(
          'relations',
          ({ where }) =>
            `delete from relations where ${where()}originating_entity_id = p_key::uuid`,
        )}
      elsif p_source = 'refresh_state' then
        ${byTenant(
          'refresh_state',
          ({ where }) =>
            `delete from refresh_state where ${where()}entity_id = p_key::uuid`,
        )}
      end if;
    end if;
  exception when others then
    raise warning 'catalog-tenancy: % % stays as it was: %', p_source, p_key, sqlerrm;
  end;
  insert into ${FAULTS} as f (source, key, reason, sqlstate)
  values (p_source, v_key, p_reason, p_state)
  on conflict (source, key) do update
    set reason = excluded.reason, sqlstate = excluded.sqlstate,
        last_seen_at = now(), attempts = f.attempts + 1;
exception when others then
  raise warning 'catalog-tenancy: % % is not carried: % (and that is not kept: %)',
    p_source, p_key, p_reason, sqlerrm;
end $$`;
}

/**
 * The function that fails in a transaction whose snapshot is older than a swap of
 * our tables: the new ones would look to it as if rows were missing.
 *
 * The lock waits for a swap that is under way. After it the name says which table is
 * in use, and the snapshot which one was.
 */
export function createCheckSnapshot(target: Target): string {
  return `create or replace function adoption_check_snapshot()
returns void language plpgsql ${functionSettings(target)} as $$
begin
  lock table entities in access share mode;
  if to_regclass('entities') is distinct from (
       select c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where c.relname = 'entities' and n.nspname = ${escapeLiteral(
          target.schema,
        )}) then
    raise exception 'the transaction is older than the tables'
      using errcode = 'serialization_failure';
  end if;
end $$`;
}
