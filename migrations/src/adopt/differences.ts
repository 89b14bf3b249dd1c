import { DEFAULT_TENANT_ID } from '../schema/tables';
import type { Executor } from '../engine/Executor';
import { engineTable } from './engine';
import type { Engine } from './engine';
import { FAULTS, PARENTS, UNKNOWN_KEY } from './names';

/** The condition for the rows of ours that are the engine's. */
export async function ownRows(
  executor: Executor,
  table: string,
): Promise<(alias: string) => string> {
  // While it can be null, during the backfill, there is only one tenant.
  const [has] = await executor.read(
    `select from pg_attribute where attrelid = to_regclass($1)
        and attname = 'tenant_id' and attnotnull and not attisdropped`,
    [table],
  );
  return alias =>
    has ? `${alias}.tenant_id = '${DEFAULT_TENANT_ID}'` : 'true';
}

/** A query for the ids of entities that are not as the engine has them. */
export async function differingEntities(
  executor: Executor,
  engine: Engine,
): Promise<string> {
  const entities = await ownRows(executor, 'entities');
  const relations = await ownRows(executor, 'relations');
  const states = await ownRows(executor, 'refresh_state');
  const finals = engineTable(engine, 'final_entities');
  const theirRelations = engineTable(engine, 'relations');
  const theirStates = engineTable(engine, 'refresh_state');
  const edge = (alias: string) =>
    `sum(hashtextextended(row(${alias}.source_entity_ref::text, ${alias}.type::text,
       ${alias}.target_entity_ref::text)::text, 0)::numeric)`;
  return `
  select coalesce(f.entity_id, e.entity_id::text) as key
    from (select * from ${finals} where final_entity is not null) f
    full join (select * from entities e where ${entities(
      'e',
    )}) e on e.entity_id::text = f.entity_id
   where f.entity_id is null or e.entity_id is null
      or f.hash <> e.hash or f.entity_ref <> e.entity_ref
      or e.updated_at <> coalesce(f.last_updated_at, 'epoch')
      or e.deleted_at is not null
      or e.final_entity is distinct from adoption_json(f.final_entity)
   union
  select coalesce(t.key, o.key)
    from (select r.originating_entity_id::text as key, count(*) as rows, ${edge(
      'r',
    )} as sum
            from ${theirRelations} r
            join entities e on e.entity_id::text = r.originating_entity_id and ${entities(
              'e',
            )}
           group by 1) t
    full join (select r.originating_entity_id::text as key, count(*) as rows, ${edge(
      'r',
    )} as sum
                 from relations r where ${relations(
                   'r',
                 )} group by 1) o using (key)
   where (t.rows, t.sum) is distinct from (o.rows, o.sum)
   union
  select e.entity_id::text
    from entities e
    join ${theirStates} s on s.entity_id = e.entity_id::text
    left join refresh_state o on o.entity_id = e.entity_id and ${states('o')}
   where ${entities('e')}
     and (o.entity_id is null or o.location_key is distinct from s.location_key
          or o.errors is distinct from case when s.errors in ('', '[]') then '[]'::jsonb
                                            else adoption_json(s.errors) end)
   union
  select o.entity_id::text from refresh_state o
   where ${states('o')} and not exists (
     select from entities e where ${entities(
       'e',
     )} and e.entity_id = o.entity_id)
   union
  select key from ${FAULTS} where source <> 'refresh_state_references' and not starts_with(key, '${UNKNOWN_KEY}')`;
}

/** A query for the edges between entities that are not as the engine has them. */
export function differingParents(engine: Engine): string {
  return `
  select coalesce(t.parent, o.parent) as parent, coalesce(t.ref, o.ref) as ref
    from (select source_entity_ref as parent, target_entity_ref as ref, count(*) as rows
            from ${engineTable(engine, 'refresh_state_references')}
           where source_entity_ref is not null group by 1, 2) t
    full join (select parent_entity_ref as parent, entity_ref as ref, count(*) as rows
                 from ${PARENTS} where tenant_id = '${DEFAULT_TENANT_ID}'
                group by 1, 2) o using (parent, ref)
   where t.rows is distinct from o.rows`;
}
