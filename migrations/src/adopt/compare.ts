import type { Executor } from '../engine/Executor';
import { escapeLiteral } from '../sql';
import { enumerate, formatThings } from '../text';
import {
  adoptCommand,
  describeEngine,
  describeTenant,
  engineTable,
} from './engine';
import type { Engine } from './engine';
import { FAULTS, PARENTS } from './state';

/**
 * Compares our rows of the engine's tenant with the engine's, except adoption faults. The
 * caller reads in one snapshot.
 *
 * @returns the differences, a sentence for entities and one for the edges between them
 */
export async function compareAdoption(
  read: Executor['read'],
  engine: Engine,
): Promise<string[]> {
  const faults = await read<Difference>(
    `select source, key from ${FAULTS} where ${ofTenant(engine)}`,
  );
  const known = new Set(faults.map(({ source, key }) => `${source} ${key}`));
  const entities = (await read<Difference>(differingEntities(engine))).filter(
    ({ source, key }) => !known.has(`${source} ${key}`),
  );
  const edges = await read<{ key: string }>(differingParents(engine));
  return [
    ...describe('entities', entities, engine),
    ...describe(PARENTS, edges, engine),
  ];
}

function describe(
  what: string,
  found: { key: string }[],
  engine: Engine,
): string[] {
  const keys = [...new Set(found.map(({ key }) => key))];
  return keys.length === 0
    ? []
    : [
        `${what} of ${describeTenant(engine)} differs from ${describeEngine(
          engine,
        )} in ${formatThings(keys.length, 'row')}: ${enumerate(
          keys,
        )}. Run ${adoptCommand(engine)}.`,
      ];
}

/** What differs: the engine's table, and the id of the entity. */
interface Difference {
  source: string;
  key: string;
}

/** The condition that selects our rows of the engine's tenant. */
function ofTenant({ tenantId }: Engine): string {
  return `tenant_id = ${escapeLiteral(tenantId)}`;
}

const EDGE = `count(*) as rows, sum(hashtextextended(row(r.source_entity_ref::text, r.type::text,
             r.target_entity_ref::text)::text, 0)::numeric) as sum`;

/**
 * A query for the entities that differ from the engine's, each once for each table.
 *
 * Joins instead of correlated subqueries: Citus refuses these between a distributed table and
 * one that is not.
 */
export function differingEntities(engine: Engine): string {
  const own = ofTenant(engine);
  const entities = `(select * from entities where ${own})`;
  const states = `(select * from refresh_state where ${own})`;
  return `
  select 'final_entities' as source, coalesce(f.entity_id, e.entity_id::text) as key
    from (select * from ${engineTable(engine, 'final_entities')}
           where final_entity is not null) f
    full join ${entities} e on e.entity_id::text = f.entity_id
   where f.entity_id is null or e.entity_id is null
      or f.hash <> e.hash or f.entity_ref <> e.entity_ref
      or e.updated_at <> coalesce(f.last_updated_at, 'epoch')
      or e.deleted_at is not null
      or e.final_entity is distinct from adoption_json(f.final_entity)
   union all
  select 'relations', coalesce(t.key, o.key)
    from (select r.originating_entity_id::text as key, ${EDGE}
            from ${engineTable(engine, 'relations')} r
            join ${entities} e on e.entity_id::text = r.originating_entity_id
           group by 1) t
    full join (select r.originating_entity_id::text as key, ${EDGE}
                 from relations r where r.${own} group by 1) o using (key)
   where (t.rows, t.sum) is distinct from (o.rows, o.sum)
   union all
  select 'refresh_state', e.entity_id::text
    from ${entities} e
    join ${engineTable(engine, 'refresh_state')} s
      on s.entity_id = e.entity_id::text
    left join ${states} o on o.entity_id = e.entity_id
   where o.entity_id is null or o.location_key is distinct from s.location_key
      or o.errors is distinct from adoption_json(coalesce(nullif(s.errors, ''), '[]'))
   union all
  select 'refresh_state', o.entity_id::text
    from ${states} o left join ${entities} e on e.entity_id = o.entity_id
   where e.entity_id is null`;
}

/** A query for the edges between entities that differ from the engine's. */
export function differingParents(engine: Engine): string {
  return `
  select parent, ref, ref || ' of ' || parent as key
    from (select source_entity_ref as parent, target_entity_ref as ref, count(*) as rows
            from ${engineTable(engine, 'refresh_state_references')}
           where source_entity_ref is not null group by 1, 2) t
    full join (select parent_entity_ref as parent, entity_ref as ref, count(*) as rows
                 from ${PARENTS} where ${ofTenant(engine)}
                group by 1, 2) o using (parent, ref)
   where t.rows is distinct from o.rows`;
}
