import { DEFAULT_TENANT_ID } from '../../schema/tables';
import { engineTable } from '../engine';
import { FAULTS, PARENTS } from '../state';
import { attempted, functionSettings, untilNothingIsLeft } from './support';
import type { Target } from './support';

const TENANT = `'${DEFAULT_TENANT_ID}'::uuid`;

/**
 * The function that makes our rows of one edge, from an entity to one that it has
 * emitted, equal to the engine's, which may be several.
 *
 * A concurrent transaction for which the DELETE waited may have inserted rows that the
 * engine has deleted since: only the next statement sees them.
 */
export function createPutParent(target: Target): string {
  const ours = `tenant_id = ${TENANT} and parent_entity_ref = p_parent and entity_ref = p_ref`;
  return `create or replace function adoption_put_parent(p_parent text, p_ref text)
returns void language plpgsql ${functionSettings(target)} as $$
begin
  ${untilNothingIsLeft({
    statements: `delete from ${PARENTS} where ${ours};`,
    left: `select from ${PARENTS} where ${ours}`,
  })};
  insert into ${PARENTS} (tenant_id, entity_ref, parent_entity_ref)
  select ${TENANT}, target_entity_ref, source_entity_ref
    from ${engineTable(target.engine, 'refresh_state_references')}
   where source_entity_ref = p_parent and target_entity_ref = p_ref;
end $$`;
}

/**
 * The function of the triggers of `refresh_state_references`. It loops over the rows:
 * PL/pgSQL would keep one plan for all, made for as many rows as the first statement had.
 */
export function createOnReferences(target: Target): string {
  return `create or replace function adoption_on_refresh_state_references()
returns trigger language plpgsql security definer ${functionSettings(
    target,
  )} as $$
declare
  v_edge record;
begin
  ${attempted({
    table: 'refresh_state_references',
    key: 'null',
    statements: `-- Each time: an undo of phase 5 may have dropped it while the attempt waited for it.
      if to_regclass('${PARENTS}') is null then
        return null;
      end if;
      if current_setting('transaction_isolation') <> 'read committed' then
        perform adoption_check_snapshot();
      end if;
      if tg_op = 'TRUNCATE' then
        delete from ${PARENTS} where tenant_id = ${TENANT};
        return null;
      end if;
      if tg_op <> 'INSERT' then
        for v_edge in select distinct source_entity_ref, target_entity_ref
                        from old_rows where source_entity_ref is not null loop
          perform adoption_put_parent(v_edge.source_entity_ref, v_edge.target_entity_ref);
        end loop;
      end if;
      if tg_op = 'INSERT' then
        insert into ${PARENTS} (tenant_id, entity_ref, parent_entity_ref)
        select ${TENANT}, target_entity_ref, source_entity_ref
          from new_rows where source_entity_ref is not null;
      elsif tg_op = 'UPDATE' then
        for v_edge in select distinct source_entity_ref, target_entity_ref
                        from new_rows where source_entity_ref is not null loop
          perform adoption_put_parent(v_edge.source_entity_ref, v_edge.target_entity_ref);
        end loop;
      end if;`,
  })}
  return null;
end $$`;
}

/** The function that carries a range of edges; see `fillParents`. */
export function createCopyParents(target: Target): string {
  return `create or replace function adoption_copy_parents(p_after bigint, p_rows int)
returns bigint language plpgsql ${functionSettings(target)} as $$
declare
  v_edge record;
  v_last bigint;
begin
  for v_edge in
    select id, source_entity_ref, target_entity_ref
      from ${engineTable(target.engine, 'refresh_state_references')}
     where id > p_after and source_entity_ref is not null
     order by id limit p_rows for key share skip locked
  loop
    perform adoption_put_parent(v_edge.source_entity_ref, v_edge.target_entity_ref);
    v_last := v_edge.id;
  end loop;
  return v_last;
end $$`;
}

/** The statement that forgets what went wrong with edges, once they are equal. */
export const FORGET_PARENT_FAULTS = `delete from ${FAULTS} where source = 'refresh_state_references'`;
