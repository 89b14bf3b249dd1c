import { ADMIN_ROLE } from '../../../roles';
import { escapeIdentifier } from '../../../sql';
import { revokeAllOnFunctionStatement } from '../../../schema/grants';
import { FITS, TERMS, WRITE_NUMBER } from './terms';

/** The function that syncs the terms of some entities of a tenant. */
const SYNC = 'entity_terms_sync';

/** The function of the triggers on `entities`. */
export const FOLLOW = 'entity_terms_follow';

/** The function that repairs the terms of one entity. */
export const REPAIR = 'entity_terms_repair';

/** The signatures of the functions. */
export const FUNCTIONS = [
  `${FOLLOW}()`,
  `${REPAIR}(uuid, uuid)`,
  `${SYNC}(uuid, uuid[], jsonb[])`,
  `${TERMS}(jsonb, uuid)`,
  `${WRITE_NUMBER}(numeric)`,
  `${FITS}(text)`,
];

// Entities whose terms one statement writes or compares.
const AT_ONCE = 200;

// Planning takes many times as long as running: one generic plan for each session. Without
// sequential scans, which a plan made for a small table or many rows would keep using.
// Without JIT, which takes longer than the query. With all digits of numbers, and
// backslashes as they stand in the text of the terms.
const settings = (schema: string) => `
  set search_path = pg_catalog, ${escapeIdentifier(schema)}, pg_temp
  set row_security = on
  set plan_cache_mode = force_generic_plan
  set enable_seqscan = off
  set jit = off
  set standard_conforming_strings = on
  set extra_float_digits = 1`;

// For statements on entities: a generic plan would lock the partitions of all tenants.
const planForTheTenant = (schema: string) =>
  settings(schema).replace('force_generic_plan', 'force_custom_plan');

/**
 * The statements that create the functions, which only triggers and `portal_admin` may
 * call.
 *
 * @param terms - the statements that create {@link TERMS}
 */
export function functionStatements(schema: string, terms: string[]): string[] {
  return [
    ...terms,
    createSync(schema),
    createFollow(schema),
    createRepair(schema),
    ...FUNCTIONS.flatMap(closeFunction),
  ];
}

export const dropFunctionStatements = FUNCTIONS.map(
  signature => `drop function if exists ${signature}`,
);

function closeFunction(signature: string): string[] {
  return [
    `alter function ${signature} owner to ${ADMIN_ROLE}`,
    revokeAllOnFunctionStatement(signature),
  ];
}

/**
 * The caller holds locks on the rows of the entities, as every writer of a row does, so no
 * two sessions write the same terms. Writes only terms that differ.
 */
function createSync(schema: string): string {
  return `create or replace function ${SYNC}(of_tenant uuid, ids uuid[], finals jsonb[])
  returns void language plpgsql${settings(schema)} as $body$
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
            from unnest(ids, finals) e (id, final), lateral ${TERMS}(e.final, e.id) t
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
end $body$`;
}

const INSERT_TERMS = `insert into entity_terms (tenant_id, entity_id, key, value, original_value)
        select item.tenant_id, n.id, t.key, t.value, t.original_value
          from unnest(item.ids, item.finals) n (id, final), lateral ${TERMS}(n.final, n.id) t`;

// SECURITY DEFINER: the application has no right to write terms.
function createFollow(schema: string): string {
  return `create or replace function ${FOLLOW}() returns trigger language plpgsql
  security definer${settings(schema)} as $body$
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
                 row_number() over () / ${AT_ONCE} as part
            from new_rows where deleted_at is null
        ) entity
       group by tenant_id, part
    loop
      -- No look at what is there: an older snapshot may still show the terms of a row
      -- that had the same id. ON CONFLICT looks, for each term.
      begin
        ${INSERT_TERMS};
      exception when unique_violation then
        ${INSERT_TERMS} on conflict do nothing;
      end;
    end loop;
  elsif tg_op = 'UPDATE' then
    -- What is the same on both sides is there twice, and is left alone.
    for item in
      select tenant_id, array_agg(entity_id) as ids, array_agg(final) as finals
        from (
          select tenant_id, entity_id, (array_agg(final_entity) filter (where is_new))[1] as final,
                 row_number() over () / ${AT_ONCE} as part
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
      perform ${SYNC}(item.tenant_id, item.ids, item.finals);
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
end $body$`;
}

/**
 * Repairs the terms of an entity, and rewrites its row: a transaction whose snapshot lacks
 * the new terms then fails with 40001 on it.
 */
function createRepair(schema: string): string {
  return `create or replace function ${REPAIR}(of_tenant uuid, of_entity uuid)
  returns void language plpgsql${planForTheTenant(schema)} as $body$
begin
  update entities set hash = hash where tenant_id = of_tenant and entity_id = of_entity;
  delete from entity_terms where tenant_id = of_tenant and entity_id = of_entity;
  perform ${SYNC}(of_tenant, array[of_entity],
    array[(select final_entity from entities
            where tenant_id = of_tenant and entity_id = of_entity and deleted_at is null)]);
end $body$`;
}
