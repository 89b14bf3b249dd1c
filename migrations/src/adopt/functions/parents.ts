import { PARENTS } from '../state';
import {
  attempted,
  ENGINE_PARAMETERS,
  engineSql,
  functionSettings,
  onEngine,
  TRIGGER_TENANT,
  untilNothingIsLeft,
} from './support';
import type { Target } from './support';

/**
 * The function that makes our rows of one edge, from an entity to one that it has
 * emitted, equal to the engine's, which may be several.
 *
 * A concurrent transaction for which the DELETE waited may have inserted rows that the
 * engine has deleted since: only the next statement sees them.
 */
export function createPutParent(target: Target): string {
  const ours = `tenant_id = p_tenant and parent_entity_ref = p_parent and entity_ref = p_ref`;
  return `create or replace function adoption_put_parent(
  ${ENGINE_PARAMETERS}, p_parent text, p_ref text)
returns void language plpgsql ${functionSettings(target)} as $$
begin
  ${untilNothingIsLeft({
    statements: `delete from ${PARENTS} where ${ours};`,
    left: `exists (select from ${PARENTS} where ${ours})`,
  })};
  ${onEngine(
    `insert into ${PARENTS} (tenant_id, entity_ref, parent_entity_ref)
  select $1, target_entity_ref, source_entity_ref from ENGINE.refresh_state_references
   where source_entity_ref = $2 and target_entity_ref = $3`,
    { values: ['p_parent', 'p_ref'] },
  )};
end $$`;
}

/**
 * The function of the triggers of `refresh_state_references`.
 *
 * PL/pgSQL keeps a copy of a trigger function for each trigger, with the plans of its
 * statements: `execute` keeps none.
 */
export function createOnReferences(target: Target): string {
  const putEach = (rows: string) => `for v_parent, v_ref in execute
          'select distinct source_entity_ref, target_entity_ref from ${rows}
            where source_entity_ref is not null' loop
          perform adoption_put_parent(v_tenant, v_engine, v_parent, v_ref);
        end loop;`;
  return `create or replace function adoption_on_refresh_state_references()
returns trigger language plpgsql security definer ${functionSettings(
    target,
  )} as $$
declare
  ${TRIGGER_TENANT}
  v_parent text;
  v_ref text;
  v_parents text[];
  v_refs text[];
begin
  ${attempted({
    table: 'refresh_state_references',
    key: 'null',
    statements: `if current_setting('transaction_isolation') <> 'read committed' then
        perform adoption_check_snapshot();
      end if;
      if tg_op = 'TRUNCATE' then
        delete from ${PARENTS} where tenant_id = v_tenant;
        return null;
      end if;
      if tg_op <> 'INSERT' then
        ${putEach('old_rows')}
      end if;
      if tg_op = 'INSERT' then
        -- Citus takes no transition table in a statement that names a distributed one.
        execute 'select array_agg(source_entity_ref), array_agg(target_entity_ref)
            from new_rows where source_entity_ref is not null' into v_parents, v_refs;
        execute 'insert into ${PARENTS} (tenant_id, entity_ref, parent_entity_ref)
          select $1, r.ref, r.parent from unnest($2, $3) r (ref, parent)'
          using v_tenant, v_refs, v_parents;
      elsif tg_op = 'UPDATE' then
        ${putEach('new_rows')}
      end if;`,
  })}
  return null;
end $$`;
}

/** The function that carries a range of edges; see `fillParents`. */
export function createCopyParents(target: Target): string {
  return `create or replace function adoption_copy_parents(
  ${ENGINE_PARAMETERS}, p_after bigint, p_rows int)
returns bigint language plpgsql ${functionSettings(target)} as $$
declare
  v_edge record;
  v_last bigint;
begin
  for v_edge in execute ${engineSql(
    `select id, source_entity_ref, target_entity_ref from ENGINE.refresh_state_references
     where id > $1 and source_entity_ref is not null
     order by id limit $2 for key share skip locked`,
  )} using p_after, p_rows
  loop
    perform adoption_put_parent(
      p_tenant, p_engine, v_edge.source_entity_ref, v_edge.target_entity_ref);
    v_last := v_edge.id;
  end loop;
  return v_last;
end $$`;
}
