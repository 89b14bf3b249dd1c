import { engineTable } from '../engine';
import { FAULTS } from '../names';
import {
  attempted,
  byTenant,
  CHECK_SNAPSHOT,
  functionSettings,
  untilNothingIsLeft,
  UUID_PATTERN,
} from './support';
import type { Target } from './support';

const COLUMNS = 'source_entity_ref, type, target_entity_ref';

/**
 * The function that makes the relations of an entity equal to the engine's, if the
 * entity is carried.
 *
 * Relations have no key, and one may be there more than once. So those of which
 * there are too many go altogether, and then what is missing comes: what is left to do
 * is nothing where they are equal, and each row of ours stands for one of the engine's.
 *
 * Another transaction that was waited for may have put some of them back, for those of the
 * engine's that are gone by now: only the next statement sees them.
 */
export function createPutRelations(target: Target): string {
  const theirs = `select ${COLUMNS} from ${engineTable(
    target.engine,
    'relations',
  )} where originating_entity_id = p_id`;
  return `create or replace function adoption_put_relations(p_id text)
returns void language plpgsql ${functionSettings(target)} as $$
declare
  v_id uuid;
begin
  if p_id !~ ${UUID_PATTERN} then
    return;
  end if;
  ${CHECK_SNAPSHOT}
  v_id := p_id::uuid;
  if not adoption_is_carried(v_id) then
    return;
  end if;
  ${byTenant('relations', ({ column, value, where }) => {
    const ours = `select ${COLUMNS} from relations where ${where()}originating_entity_id = v_id`;
    return untilNothingIsLeft({
      statements: `delete from relations r
     where ${where('r')}r.originating_entity_id = v_id
       and (r.source_entity_ref, r.type, r.target_entity_ref) in (
         select ${COLUMNS} from (${ours} except all ${theirs}) s);
    insert into relations (${column}originating_entity_id, ${COLUMNS})
    select ${value}v_id, ${COLUMNS} from (${theirs} except all ${ours}) s;`,
      left: `${ours} except all ${theirs}`,
    });
  })}
  delete from ${FAULTS} where source = 'relations' and key = p_id;
end $$`;
}

/**
 * The function that says whether an entity is carried. A transaction that can't see
 * what was committed after it began fails rather than take that for a no.
 */
export function createIsCarried(target: Target): string {
  return `create or replace function adoption_is_carried(p_id uuid)
returns boolean language plpgsql ${functionSettings(target)} as $$
begin
  ${byTenant(
    'entities',
    ({ where }) => `perform from entities where ${where()}entity_id = p_id`,
  )}
  if not found and current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'the transaction may be older than the entity'
      using errcode = 'serialization_failure';
  end if;
  return found;
end $$`;
}

/** The function of the triggers of \`relations\`. */
export function createOnRelations(target: Target): string {
  return `create or replace function adoption_on_relations()
returns trigger language plpgsql security definer ${functionSettings(
    target,
  )} as $$
declare
  v_ids text[];
  v_id text;
begin
  if tg_op = 'TRUNCATE' then
    ${byTenant(
      'relations',
      ({ where }) => `delete from relations where ${where()}true`,
    )}
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
    ${attempted({
      table: 'relations',
      key: 'v_id',
      statements: 'perform adoption_put_relations(v_id);',
    })}
  end loop;
  return null;
exception when others then
  begin
    perform adoption_note('relations', '*', sqlerrm, sqlstate);
  exception when others then
    raise warning 'catalog-tenancy: a change of relations is not carried: %', sqlerrm;
  end;
  return null;
end $$`;
}
