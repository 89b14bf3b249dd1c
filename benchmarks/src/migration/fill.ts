import type { BenchmarkContext } from '../harness/Benchmark';
import { type Comparison, compare } from '../harness/comparison';
import {
  type Database,
  runStatements,
  secondsOf,
  withClient,
  withCopyOf,
} from './database';
import {
  createCatalogTables,
  DEFAULT_TENANT_ID,
  entitySearchFill,
  findDifferences,
  SEARCH_INDEXES,
} from './engine';
import { measureSides } from './measureSides';
import { operate, runPhase, runPhaseUpTo, SCHEMA } from './operator';
import { fillStatements } from './rows';
import { StepClock } from './StepClock';

const TARGET = 5;

// As many as are locked for some milliseconds.
const BATCH = 40;

/**
 * Compares the step that fills entity_search with what it did before it built the indexes
 * last: the terms of some locked entities at a time find their places in all indexes, and
 * all are compared with their entities in the end.
 */
export async function compareFill(
  context: BenchmarkContext,
  entities: number,
): Promise<{ comparison: Comparison; notes: string[] }> {
  const start = await createStart(context, entities);
  const [ours, alternative] = await measureSides(context, entities, [
    {
      name: 'phase 5, 5_95_entity_search_fill',
      measure: () => withCopyOf(start, fill),
    },
    {
      name: 'batches, indexes first',
      measure: () =>
        withCopyOf(start, copy => secondsOf(copy, () => fillInBatches(copy))),
    },
  ]);
  return {
    comparison: compare({
      what: 'entity_search',
      unit: 'entities',
      ours,
      alternative,
      target: TARGET,
    }),
    notes: [await withCopyOf(start, describe)],
  };
}

/** A catalog of which nothing is left to do but that step, with its relations in JSON. */
async function createStart(
  { postgres, progress }: BenchmarkContext,
  entities: number,
): Promise<Database> {
  const start = { postgres, name: 'terms' };
  progress(`filling a catalog with ${entities} entities and their relations`);
  await runStatements({ postgres, name: 'postgres' }, [
    `create database ${start.name}`,
  ]);
  await operate(start, migration => createCatalogTables(migration.context));
  await runStatements(start, [
    `set search_path = ${SCHEMA}`,
    ...fillStatements({ entities, relationsPerEntity: 3 }),
    `update entities set final_entity = final_entity || jsonb_build_object('relations', (
       select jsonb_agg(jsonb_build_object('type', type, 'targetRef', target_entity_ref))
         from relations where originating_entity_id = entity_id))`,
    'vacuum full analyze entities',
  ]);
  for (const phase of [1, 2, 3, 4] as const) {
    await runPhase(start, phase);
  }
  await runPhaseUpTo(start, 5, entitySearchFill);
  return start;
}

async function fill(database: Database): Promise<number> {
  const clock = new StepClock();
  await secondsOf(database, () => runPhase(database, 5, clock.reporter));
  return clock.secondsOf([entitySearchFill]);
}

async function fillInBatches(database: Database): Promise<void> {
  await runStatements(database, [
    `set search_path = ${SCHEMA}`,
    ...SEARCH_INDEXES.map(({ statement }) => statement),
    `do $$
declare
  ids uuid[];
  finals jsonb[];
  after uuid;
begin
  loop
    select array_agg(e.entity_id), array_agg(e.final_entity) into ids, finals
      from (select entity_id, final_entity from entities
             where tenant_id = '${DEFAULT_TENANT_ID}' and deleted_at is null
               and (after is null or entity_id > after)
             order by entity_id limit ${BATCH} for share) e;
    exit when ids is null;
    perform entity_search_sync('${DEFAULT_TENANT_ID}', ids, finals);
    after := ids[cardinality(ids)];
    commit;
  end loop;
end $$`,
    'vacuum (analyze) entity_search',
  ]);
  await operate(database, ({ context: { executor } }) =>
    executor.work({
      title: 'compare',
      script: [],
      async run(session) {
        for await (const { entity } of findDifferences(session)) {
          throw new Error(`The terms of the entity ${entity} are wrong`);
        }
      },
    }),
  );
}

async function describe(database: Database): Promise<string> {
  await runPhase(database, 5);
  return withClient(database, async client => {
    const { rows } = await client.query(
      `select to_char(count(*), 'FM999,999,999') as terms,
              to_char(count(distinct entity_id), 'FM999,999,999') as entities,
              pg_size_pretty(pg_total_relation_size('${SCHEMA}.entity_search')) as size
         from ${SCHEMA}.entity_search`,
    );
    const [{ terms, entities, size }] = rows;
    return `entity_search: ${terms} rows of ${entities} live entities, ${size} with indexes`;
  });
}
