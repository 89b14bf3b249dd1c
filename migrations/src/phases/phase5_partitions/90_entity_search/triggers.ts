import { ADMIN_ROLE } from '../../../schema/roles';
import { escapeIdentifier } from '../../../schema/sql';
import { TERMS } from './terms';

/** Makes the terms of some entities of a tenant what they have to be. */
export const SYNC = 'entity_search_sync';

/** What the triggers on `entities` call. */
const FOLLOW = 'entity_search_follow';

/** The triggers, and the statements that they fire after. */
const TRIGGERS: Record<string, string> = {
  entity_search_insert: 'insert on entities referencing new table as new_rows',
  entity_search_update:
    'update on entities referencing old table as old_rows new table as new_rows',
  entity_search_delete: 'delete on entities referencing old table as old_rows',
  entity_search_truncate: 'truncate on entities',
};

const FUNCTIONS = [
  `${FOLLOW}()`,
  `${SYNC}(uuid, uuid[], jsonb[])`,
  `${TERMS}(jsonb, uuid)`,
];

// Entities of an update whose terms are compared at once.
const AT_ONCE = 200;

// A plan is kept for the session: one that reads the whole table because that is
// small, or because many rows have changed, would do so for ever. Compiling it would
// take longer than running it. Numbers are written with all of their digits.
const settings = (schema: string) => `
  set search_path = pg_catalog, ${escapeIdentifier(schema)}, pg_temp
  set row_security = off
  set enable_seqscan = off
  set jit = off
  set extra_float_digits = 1`;

/**
 * The statements that create the functions, which nobody but triggers and
 * `portal_admin` may call.
 *
 * The caller of {@link SYNC} holds locks on the rows of the entities, as whoever
 * changes a row does: that is what keeps two from writing the same terms.
 */
export function functionStatements(schema: string, terms: string): string[] {
  return [
    terms,
    `create or replace function ${SYNC}(of_tenant uuid, ids uuid[], finals jsonb[])
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
          select e.id as entity_id, t.key, t.value, t.original_value, null::tid as address
            from unnest(ids, finals) e (id, final), lateral ${TERMS}(e.final, e.id) t
           where e.final is not null
           union all
          select s.entity_id, s.key, s.value, s.original_value, s.ctid
            from entity_search s
           where s.tenant_id = of_tenant and s.entity_id = any (ids)
        ) sides
       group by 1, 2, 3, 4 having count(*) = 1
    ) difference;
  if gone is not null then
    delete from entity_search where ctid = any (gone);
  end if;
  if new_ids is not null then
    insert into entity_search (tenant_id, entity_id, key, value, original_value)
    select of_tenant, n.id, n.key, n.value, n.original_value
      from unnest(new_ids, new_keys, new_values, new_originals) n (id, key, value, original_value)
        on conflict do nothing;
  end if;
end $body$`,
    `create or replace function ${FOLLOW}() returns trigger language plpgsql
  security definer${settings(schema)} as $body$
declare
  item record;
begin
  if tg_op = 'INSERT' then
    -- No look at what is there: an older snapshot may still show the terms of a row
    -- that had the same id.
    insert into entity_search (tenant_id, entity_id, key, value, original_value)
    select n.tenant_id, n.entity_id, t.key, t.value, t.original_value
      from new_rows n, lateral ${TERMS}(n.final_entity, n.entity_id) t
     where n.deleted_at is null
        on conflict do nothing;
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
      delete from entity_search
       where tenant_id = item.tenant_id and entity_id = any (item.ids);
    end loop;
  else
    truncate entity_search;
  end if;
  return null;
end $body$`,
    ...FUNCTIONS.flatMap(signature => [
      `alter function ${signature} owner to ${ADMIN_ROLE}`,
      `revoke all on function ${signature} from public`,
    ]),
  ];
}

/**
 * The statements that let every change of entities change their terms, in the same
 * transaction and with one call for each statement, whoever runs it.
 *
 * Triggers of statements fire for the table that a statement names: what moves rows
 * between partitions names those, and the terms stay, as the rows do.
 */
export const triggerStatements = Object.entries(TRIGGERS).flatMap(
  ([name, event]) => [
    `create or replace trigger ${name} after ${event}
  for each statement execute function ${FOLLOW}()`,
    // Also in a session that plays a replica.
    `alter table entities enable always trigger ${name}`,
  ],
);

export const dropTriggerStatements = Object.keys(TRIGGERS).map(
  name => `drop trigger if exists ${name} on entities`,
);

export const dropFunctionStatements = FUNCTIONS.map(
  signature => `drop function if exists ${signature}`,
);
