import type { Executor } from '../engine/Executor';
import { escapeLiteral } from '../sql';
import { formatThings } from '../text';
import {
  adoptCommand,
  describeEngine,
  describeTenant,
  engineTable,
} from './engine';
import type { Engine } from './engine';
import { FAULTS, PARENTS, UNKNOWN_KEY } from './state';

/** Two queries for the same columns: of the engine's rows, and of ours. */
interface Sides {
  table: string;
  theirs: string;
  ours: string;
}

/** Rows and an order-independent checksum of them. */
interface Sums {
  rows: number;
  sum: string | null;
}

/**
 * Compares our rows of the engine's tenant with the engine's, except adoption faults. The
 * caller reads in one snapshot.
 *
 * @returns the differences, a sentence for each table
 */
export async function compareAdoption(
  read: Executor['read'],
  engine: Engine,
): Promise<string[]> {
  const problems: string[] = [];
  for (const sides of describeSides(engine)) {
    const [theirs] = await read<Sums>(sums(sides.theirs));
    const [ours] = await read<Sums>(sums(sides.ours));
    if (theirs.rows !== ours.rows || theirs.sum !== ours.sum) {
      problems.push(
        `${sides.table} of ${describeTenant(
          engine,
        )} differs from ${describeEngine(engine)}: ` +
          `${formatThings(ours.rows, 'row')} here, ${formatThings(
            theirs.rows,
            'row',
          )} there` +
          `${
            theirs.rows === ours.rows ? ', which do not hold the same' : ''
          }. Run ${adoptCommand(engine)}.`,
      );
    }
  }
  return problems;
}

function sums(query: string): string {
  return `select count(*)::float8 as rows,
     sum(hashtextextended(compared_row::text, 0)::numeric)::text as sum
   from (${query}) compared_row`;
}

function describeSides(engine: Engine): Sides[] {
  const own = ofTenant(engine);
  // Joins instead of correlated subqueries: Citus refuses these between a distributed table and
  // one that is not.
  const carried = (id: string) =>
    `join (select e.entity_id::text as id from entities e where ${own(
      'e',
    )}) carried on carried.id = ${id}`;
  const withoutFaults = (source: string, id: string) =>
    `left join (select f.key from ${FAULTS} f
         where ${own(
           'f',
         )} and f.source = '${source}') faulty on faulty.key = ${id}
       where faulty.key is null`;
  const edges = (alias: string) =>
    `${alias}.originating_entity_id::text as id, ${alias}.source_entity_ref::text as source,
     ${alias}.type::text as type, ${alias}.target_entity_ref::text as target`;
  return [
    {
      table: 'entities',
      theirs: `select t.entity_id::text as id, t.entity_ref::text as ref, t.hash::text as hash,
          coalesce(t.last_updated_at, 'epoch') as updated, adoption_json(t.final_entity) as entity,
          null::timestamptz as deleted
        from ${engineTable(engine, 'final_entities')} t
        ${withoutFaults('final_entities', 't.entity_id')}
         and t.final_entity is not null`,
      ours: `select o.entity_id::text as id, o.entity_ref as ref, o.hash,
          o.updated_at as updated, o.final_entity as entity, o.deleted_at as deleted
        from entities o where ${own('o')}`,
    },
    {
      table: 'relations',
      theirs: `select ${edges('t')} from ${engineTable(engine, 'relations')} t
        ${carried('t.originating_entity_id')}
        ${withoutFaults('relations', 't.originating_entity_id')}`,
      ours: `select ${edges('o')} from relations o
        ${withoutFaults('relations', 'o.originating_entity_id::text')}
         and ${own('o')}`,
    },
    {
      table: 'refresh_state',
      theirs: `select t.entity_id::text as id, t.location_key::text as location,
          adoption_json(coalesce(nullif(t.errors, ''), '[]')) as errors
        from ${engineTable(engine, 'refresh_state')} t
        ${carried('t.entity_id')}
        ${withoutFaults('refresh_state', 't.entity_id')}`,
      ours: `select o.entity_id::text as id, o.location_key::text as location, o.errors
        from refresh_state o where ${own('o')}`,
    },
    {
      table: PARENTS,
      theirs: `select t.source_entity_ref::text as parent, t.target_entity_ref::text as ref
        from ${engineTable(engine, 'refresh_state_references')} t
       where t.source_entity_ref is not null`,
      ours: `select o.parent_entity_ref as parent, o.entity_ref as ref
        from ${PARENTS} o where ${own('o')}`,
    },
  ];
}

/** The condition that selects our rows of the engine's tenant. */
function ofTenant({ tenantId }: Engine): (alias: string) => string {
  return alias => `${alias}.tenant_id = ${escapeLiteral(tenantId)}`;
}

/** A query for the ids of entities that differ from the engine's. */
export function differingEntities(engine: Engine): string {
  const own = ofTenant(engine);
  const finals = engineTable(engine, 'final_entities');
  const theirRelations = engineTable(engine, 'relations');
  const theirStates = engineTable(engine, 'refresh_state');
  const edge = (alias: string) =>
    `sum(hashtextextended(row(${alias}.source_entity_ref::text, ${alias}.type::text,
       ${alias}.target_entity_ref::text)::text, 0)::numeric)`;
  return `
  select coalesce(f.entity_id, e.entity_id::text) as key
    from (select * from ${finals} where final_entity is not null) f
    full join (select * from entities e where ${own(
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
            join entities e on e.entity_id::text = r.originating_entity_id and ${own(
              'e',
            )}
           group by 1) t
    full join (select r.originating_entity_id::text as key, count(*) as rows, ${edge(
      'r',
    )} as sum
                 from relations r where ${own('r')} group by 1) o using (key)
   where (t.rows, t.sum) is distinct from (o.rows, o.sum)
   union
  select e.entity_id::text
    from entities e
    join ${theirStates} s on s.entity_id = e.entity_id::text
    left join refresh_state o on o.entity_id = e.entity_id and ${own('o')}
   where ${own('e')}
     and (o.entity_id is null or o.location_key is distinct from s.location_key
          or o.errors is distinct from case when s.errors in ('', '[]') then '[]'::jsonb
                                            else adoption_json(s.errors) end)
   union
  select o.entity_id::text from refresh_state o
   where ${own('o')} and not exists (
     select from entities e where ${own('e')} and e.entity_id = o.entity_id)
   union
  select key from ${FAULTS} f
   where ${own('f')} and source <> 'refresh_state_references'
     and not starts_with(key, '${UNKNOWN_KEY}')`;
}

/** A query for the edges between entities that differ from the engine's. */
export function differingParents(engine: Engine): string {
  return `
  select coalesce(t.parent, o.parent) as parent, coalesce(t.ref, o.ref) as ref
    from (select source_entity_ref as parent, target_entity_ref as ref, count(*) as rows
            from ${engineTable(engine, 'refresh_state_references')}
           where source_entity_ref is not null group by 1, 2) t
    full join (select parent_entity_ref as parent, entity_ref as ref, count(*) as rows
                 from ${PARENTS} o where ${ofTenant(engine)('o')}
                group by 1, 2) o using (parent, ref)
   where t.rows is distinct from o.rows`;
}
