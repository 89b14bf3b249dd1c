import type { Executor } from '../engine/Executor';
import { DEFAULT_TENANT_ID } from '../schema/tables';
import { relationExists } from '../schema/lookups';
import { formatThings } from '../text';
import { ownRows } from './differences';
import { engineTable } from './engine';
import type { Engine } from './engine';
import { FAULTS, PARENTS } from './names';
import { operatorCommand } from '../operatorCommand';

/** Two queries for the same columns: of the engine's rows, and of ours. */
interface Sides {
  table: string;
  theirs: string;
  ours: string;
}

/** Rows and an order-independent checksum of them, on both sides. */
interface Sums {
  theirs: { rows: number; sum: string | null };
  ours: { rows: number; sum: string | null };
}

/**
 * Compares everything that is carried with what the engine has, but for what is
 * kept aside. To be called in one snapshot.
 *
 * @returns what differs, a sentence for each table
 */
export async function compareAdoption(
  read: Executor['read'],
  executor: Executor,
  engine: Engine,
): Promise<string[]> {
  const problems: string[] = [];
  for (const sides of await describeSides(executor, engine)) {
    const [{ theirs, ours }] = await read<Sums>(
      `select (${sums(sides.theirs)}) as theirs, (${sums(sides.ours)}) as ours`,
    );
    if (theirs.rows !== ours.rows || theirs.sum !== ours.sum) {
      problems.push(
        `${sides.table} of the default tenant differs from the stock catalog: ` +
          `${formatThings(ours.rows, 'row')} here, ${formatThings(
            theirs.rows,
            'row',
          )} there` +
          `${
            theirs.rows === ours.rows ? ', which do not hold the same' : ''
          }. Run ${operatorCommand('adopt')}.`,
      );
    }
  }
  return problems;
}

function sums(query: string): string {
  return `select jsonb_build_object('rows', count(*),
     'sum', sum(hashtextextended(compared_row::text, 0)::numeric)::text)
   from (${query}) compared_row`;
}

async function describeSides(
  executor: Executor,
  engine: Engine,
): Promise<Sides[]> {
  const entities = await ownRows(executor, 'entities');
  const relations = await ownRows(executor, 'relations');
  const states = await ownRows(executor, 'refresh_state');
  const carried = (id: string) =>
    `exists (select from entities e where ${entities(
      'e',
    )} and e.entity_id::text = ${id})`;
  const good = (source: string, id: string) =>
    `not exists (select from ${FAULTS} f where f.source = '${source}' and f.key = ${id})`;
  const edges = (alias: string) =>
    `${alias}.originating_entity_id::text as id, ${alias}.source_entity_ref::text as source,
     ${alias}.type::text as type, ${alias}.target_entity_ref::text as target`;
  const tables: Sides[] = [
    {
      table: 'entities',
      theirs: `select t.entity_id::text as id, t.entity_ref::text as ref, t.hash::text as hash,
          coalesce(t.last_updated_at, 'epoch') as updated, adoption_json(t.final_entity) as entity,
          null::timestamptz as deleted
        from ${engineTable(engine, 'final_entities')} t
       where t.final_entity is not null and ${good(
         'final_entities',
         't.entity_id',
       )}`,
      ours: `select o.entity_id::text as id, o.entity_ref as ref, o.hash,
          o.updated_at as updated, o.final_entity as entity, o.deleted_at as deleted
        from entities o where ${entities('o')}`,
    },
    {
      table: 'relations',
      theirs: `select ${edges('t')} from ${engineTable(engine, 'relations')} t
       where ${carried('t.originating_entity_id')} and ${good(
        'relations',
        't.originating_entity_id',
      )}`,
      ours: `select ${edges('o')} from relations o
       where ${relations('o')} and ${good(
        'relations',
        'o.originating_entity_id::text',
      )}`,
    },
    {
      table: 'refresh_state',
      theirs: `select t.entity_id::text as id, t.location_key::text as location,
          adoption_json(coalesce(nullif(t.errors, ''), '[]')) as errors
        from ${engineTable(engine, 'refresh_state')} t
       where ${carried('t.entity_id')} and ${good(
        'refresh_state',
        't.entity_id',
      )}`,
      ours: `select o.entity_id::text as id, o.location_key::text as location, o.errors
        from refresh_state o where ${states('o')}`,
    },
  ];
  if (await relationExists(executor, PARENTS)) {
    tables.push({
      table: PARENTS,
      theirs: `select t.source_entity_ref::text as parent, t.target_entity_ref::text as ref
        from ${engineTable(engine, 'refresh_state_references')} t
       where t.source_entity_ref is not null`,
      ours: `select o.parent_entity_ref as parent, o.entity_ref as ref
        from ${PARENTS} o where o.tenant_id = '${DEFAULT_TENANT_ID}'`,
    });
  }
  return tables;
}
