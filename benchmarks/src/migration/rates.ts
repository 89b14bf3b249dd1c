import type { BenchmarkContext } from '../harness/Benchmark';
import {
  compare,
  type Comparison,
  type Measurement,
} from '../harness/comparison';
import {
  type Database,
  runStatements,
  secondsOf,
  withClient,
  withCopyOf,
} from '../harness/database';
import {
  backfill,
  catchAllPartition,
  copyRows,
  createCatalogTables,
  DEFAULT_TENANT_ID,
  defaultTenantPartition,
  entityTermsFill,
  findDifferences,
  firstCatchUp,
  foreignKeys,
  indexes,
  partitionedName,
  TERM_INDEXES,
  swap,
  TENANT_TABLES,
} from '../harness/engine';
import {
  goBack,
  operate,
  runPhase,
  runPhaseUpTo,
  StepClock,
} from '../harness/migrations';
import { SCHEMA } from '../harness/servers';
import { formatSeconds } from '../harness/report';
import { fillStatements } from './catalog';

/** Something that is measured by how long it takes for all rows. */
interface SideToMeasure {
  name: string;
  /** Seconds. */
  measure(): Promise<number>;
}

/**
 * Measures sides in turn, and in the opposite order in every other round: what
 * comes later in a round finds other things in memory and on the disk.
 */
export async function measureSides(
  { progress, settings }: Pick<BenchmarkContext, 'progress' | 'settings'>,
  rows: number,
  sides: SideToMeasure[],
): Promise<{ name: string; rounds: Measurement[] }[]> {
  const measured = sides.map(({ name }) => ({
    name,
    rounds: [] as Measurement[],
  }));
  for (let round = 0; round < settings.rounds; round += 1) {
    const order = Array.from(sides.keys());
    for (const index of round % 2 === 0 ? order : order.reverse()) {
      const seconds = await sides[index].measure();
      progress(`${sides[index].name}: ${formatSeconds(seconds)}`);
      measured[index].rounds.push({ count: rows, perSecond: rows / seconds });
    }
  }
  return measured;
}

/**
 * Compares the backfill of phase 2 with what it could be at most: one UPDATE of
 * all rows, which would lock each of them until the last one is done, and one
 * INSERT … SELECT into tables with the same indexes.
 *
 * @param start - a catalog before phase 2, of which each side gets a copy
 */
export async function compareBackfill(
  context: BenchmarkContext,
  start: Database,
  rows: number,
): Promise<Comparison[]> {
  const [ours, update, insert] = await measureSides(context, rows, [
    {
      name: 'phase 2, 2_20_backfill',
      measure: () => withCopyOf(start, runBackfill),
    },
    {
      name: 'one UPDATE per table',
      measure: () => withCopyOf(start, updateAll),
    },
    {
      name: 'INSERT … SELECT',
      measure: () => withCopyOf(start, insertAll),
    },
  ]);
  return [insert, update].map(alternative =>
    compare({ what: 'backfill', unit: 'rows', ours, alternative }),
  );
}

async function runBackfill(database: Database): Promise<number> {
  const clock = new StepClock();
  await secondsOf(database, () => runPhase(database, 2, clock.reporter));
  return clock.secondsOf([backfill]);
}

async function updateAll(database: Database): Promise<number> {
  const statements = TENANT_TABLES.map(
    table => `update ${SCHEMA}.${table} set tenant_id = '${DEFAULT_TENANT_ID}'`,
  );
  return secondsOf(database, () => runStatements(database, statements));
}

async function insertAll(database: Database): Promise<number> {
  // All indexes, but no foreign keys: those say nothing about tenant_id, and the
  // backfill does not check them either.
  await runStatements(database, [
    'create schema bare',
    ...TENANT_TABLES.map(
      table =>
        `create table bare.${table} (like ${SCHEMA}.${table} including all)`,
    ),
  ]);
  const statements = TENANT_TABLES.map(
    table => `insert into bare.${table} select * from ${SCHEMA}.${table}`,
  );
  return secondsOf(database, () => runStatements(database, statements));
}

const COPY_TARGET = 0.6;

/** All that builds the copy. Verification and swap come after it. */
const BUILDING = [copyRows, firstCatchUp, indexes, foreignKeys];

/**
 * Compares the copy of phase 5 with one INSERT … SELECT per table into partitioned
 * tables that have the same indexes, constraints and foreign keys from the start.
 *
 * @param database - a catalog after phase 4, which is left as it was
 */
export async function compareCopy(
  context: BenchmarkContext,
  database: Database,
  rows: number,
): Promise<{ comparison: Comparison; notes: string[] }> {
  // What the alternative fills is made after what ours has built.
  await build(database);
  await createBareTables(database);
  await goBack(database, 4);

  let clock = new StepClock();
  const [ours, alternative] = await measureSides(context, rows, [
    {
      name: 'phase 5, 5_30 to 5_60',
      measure: async () => {
        clock = await build(database);
        await goBack(database, 4);
        return clock.secondsOf(BUILDING);
      },
    },
    {
      name: 'INSERT … SELECT',
      measure: async () => {
        const seconds = await secondsOf(database, () =>
          insertIntoBare(database),
        );
        await emptyBareTables(database);
        return seconds;
      },
    },
  ]);
  const steps = clock
    .times()
    .map(({ name, seconds }) => `${name} ${seconds.toFixed(1)} s`);
  return {
    comparison: compare({
      what: 'copy',
      unit: 'rows',
      ours,
      alternative,
      target: COPY_TARGET,
    }),
    notes: [`Copy, the last round, nobody else writing: ${steps.join(', ')}`],
  };
}

/** Runs phase 5 until the copies are complete. */
async function build(database: Database): Promise<StepClock> {
  await runStatements(database, ['checkpoint']);
  return runPhaseUpTo(database, 5, swap);
}

const BARE = 'bare';

/**
 * Creates partitioned tables like those that phase 5 has built, with all their
 * columns, indexes, constraints and foreign keys, and without a row.
 */
async function createBareTables(database: Database): Promise<void> {
  await runStatements(database, [
    `create schema ${BARE}`,
    ...TENANT_TABLES.flatMap(table => [
      `create table ${BARE}.${table} (
         like ${SCHEMA}.${partitionedName(table)} including all
       ) partition by list (tenant_id)`,
      `create table ${BARE}.${defaultTenantPartition(table)}
         partition of ${BARE}.${table} for values in ('${DEFAULT_TENANT_ID}')`,
      `create table ${BARE}.${catchAllPartition(table)}
         partition of ${BARE}.${table} default`,
    ]),
    ...(await readForeignKeys(database)),
  ]);
  await assertAlike(database);
}

/** One INSERT … SELECT per table. */
async function insertIntoBare(database: Database): Promise<void> {
  await runStatements(
    database,
    TENANT_TABLES.map(
      table => `insert into ${BARE}.${table} select * from ${SCHEMA}.${table}`,
    ),
  );
}

async function emptyBareTables(database: Database): Promise<void> {
  const names = TENANT_TABLES.map(table => `${BARE}.${table}`);
  await runStatements(database, [`truncate ${names.join(', ')}`]);
}

/** The statements for the foreign keys, which LIKE leaves out. */
async function readForeignKeys(database: Database): Promise<string[]> {
  return withClient(database, async client => {
    const { rows } = await client.query<{ table: string; definition: string }>(
      `select conrelid::regclass::text as table, pg_get_constraintdef(oid) as definition
         from pg_constraint
        where contype = 'f' and conparentid = 0
          and conrelid = any (array[${TENANT_TABLES.map(
            table => `'${SCHEMA}.${partitionedName(table)}'::regclass`,
          ).join(', ')}])`,
    );
    return rows.map(({ table, definition }) =>
      `alter table ${table} add ${definition}`
        .split(`${SCHEMA}.entities_partitioned`)
        .join(`${BARE}.entities`)
        .replace(
          new RegExp(`${SCHEMA}\\.(\\w+)_partitioned add`),
          `${BARE}.$1 add`,
        ),
    );
  });
}

/** Both sides have as many indexes and constraints, or the ratio means nothing. */
async function assertAlike(database: Database): Promise<void> {
  await withClient(database, async client => {
    for (const table of TENANT_TABLES) {
      const { rows } = await client.query<{ ours: string; bare: string }>(
        `select ${constraintsOf(`${SCHEMA}.${partitionedName(table)}`)} as ours,
                ${constraintsOf(`${BARE}.${table}`)} as bare`,
      );
      const [{ ours, bare }] = rows;
      if (ours !== bare) {
        throw new Error(
          `${BARE}.${table} has other indexes or constraints than the copy: ${bare} ` +
            `instead of ${ours}`,
        );
      }
    }
  });
}

/** Access methods and kinds of constraints, as one text. */
function constraintsOf(table: string): string {
  return `concat(
    (select string_agg(amname || ' ' || replace(i.indkey::text, ' ', ','), '; ' order by amname, i.indkey::text)
       from pg_index i join pg_class c on c.oid = i.indexrelid join pg_am a on a.oid = c.relam
      where i.indrelid = '${table}'::regclass),
    ' | ',
    (select string_agg(contype::text || ' ' || conkey::text, '; ' order by contype, conkey::text)
       from pg_constraint where conrelid = '${table}'::regclass and conparentid = 0
        and contype <> 'n'))`;
}

const FILL_TARGET = 5;

// As many as are locked for some milliseconds.
const BATCH = 40;

/**
 * Compares the step that fills entity_terms with what it did before it built the indexes
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
      name: 'phase 5, 5_96_entity_terms_fill',
      measure: () => withCopyOf(start, fillTerms),
    },
    {
      name: 'batches, indexes first',
      measure: () =>
        withCopyOf(start, copy => secondsOf(copy, () => fillInBatches(copy))),
    },
  ]);
  return {
    comparison: compare({
      what: 'entity_terms',
      unit: 'entities',
      ours,
      alternative,
      target: FILL_TARGET,
    }),
    notes: [await withCopyOf(start, describeTerms)],
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
  await runPhaseUpTo(start, 5, entityTermsFill);
  return start;
}

async function fillTerms(database: Database): Promise<number> {
  const clock = new StepClock();
  await secondsOf(database, () => runPhase(database, 5, clock.reporter));
  return clock.secondsOf([entityTermsFill]);
}

async function fillInBatches(database: Database): Promise<void> {
  await runStatements(database, [
    `set search_path = ${SCHEMA}`,
    ...TERM_INDEXES.map(({ statement }) => statement),
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
    perform entity_terms_sync('${DEFAULT_TENANT_ID}', ids, finals);
    after := ids[cardinality(ids)];
    commit;
  end loop;
end $$`,
    'vacuum (analyze) entity_terms',
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

async function describeTerms(database: Database): Promise<string> {
  await runPhase(database, 5);
  return withClient(database, async client => {
    const { rows } = await client.query(
      `select to_char(count(*), 'FM999,999,999') as terms,
              to_char(count(distinct entity_id), 'FM999,999,999') as entities,
              pg_size_pretty(pg_total_relation_size('${SCHEMA}.entity_terms')) as size
         from ${SCHEMA}.entity_terms`,
    );
    const [{ terms, entities, size }] = rows;
    return `entity_terms: ${terms} rows of ${entities} live entities, ${size} with indexes`;
  });
}
