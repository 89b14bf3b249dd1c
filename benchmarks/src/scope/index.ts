import type { Entity } from '@backstage/catalog-model';
import type { PostgresConnection } from '@internal/postgres';
import { isDeepStrictEqual } from 'node:util';
import type {
  Benchmark,
  BenchmarkContext,
  BenchmarkResult,
} from '../harness/Benchmark';
import {
  compare,
  type Comparison,
  measureInTurn,
  type Measurement,
} from '../harness/comparison';
import {
  type Database,
  runStatements,
  vacuum,
  withKnex,
} from '../harness/database';
import { DelayingProxy } from '../harness/delayingProxy';
import { keepBusy } from '../harness/load';
import {
  addTenants,
  assertTerms,
  countOf,
  createDatabases,
  createQuestions,
  type Databases,
  FULL,
  type Layout,
  LAYOUT_NAMES,
  LAYOUTS,
  type Operation,
  OPERATIONS,
  type Question,
  SHORT,
  type Size,
  tenantIdOf,
} from './data';
import {
  type Access,
  type ListedRow,
  openBare,
  openOurs,
  openPolicyAlone,
  openPool,
  openTransactions,
  type Side,
} from './sides';

/** How far away the database is where it is not at hand, in milliseconds. */
const RTT_MS = 1;

/** What the tenant scope costs a read, with few and with many tenants. */
export const scopeBenchmark: Benchmark = {
  name: 'scope',
  rounds: { full: 5, short: 2 },
  serverSettings: ({ short }) => ({
    // What runs now and then would hit one side only.
    autovacuum: 'off',
    checkpoint_timeout: '1h',
    // Far less than is filled, which takes enough of the disk. Nothing is written while
    // anything is measured.
    max_wal_size: '4GB',
    // What is read stays in memory.
    shared_buffers: short ? '256MB' : '6GB',
    // Each of the sides has its connections.
    max_connections: '500',
    // The policy alone locks every partition. With PostgreSQL's 64, ten at a time fail.
    max_locks_per_transaction: '1024',
  }),
  run,
};

async function run(context: BenchmarkContext): Promise<BenchmarkResult> {
  const { postgres, progress, settings } = context;
  const size = settings.short ? SHORT : FULL;
  const databases = await createDatabases(postgres, size);
  const comparisons: Comparison[] = [];
  const notes: string[] = [];
  let before: Arena['before'];
  for (const [index, tenants] of size.tenants.entries()) {
    progress(`filling ${countOf(tenants)}`);
    await grow(databases, size, {
      from: size.tenants[index - 1] ?? 0,
      to: tenants,
    });
    comparisons.push(
      ...(await measureStep(context, size, databases, { tenants, before })),
    );
    notes.push(await describeLocks(context, databases, tenants));
    if (tenants === size.growsFrom) {
      before = { databases: await keepCopies(databases), tenants };
    }
  }
  return {
    circumstances: await describeData(context, size, databases),
    comparisons,
    notes,
  };
}

async function grow(
  databases: Databases,
  size: Size,
  { from, to }: { from: number; to: number },
): Promise<void> {
  await addTenants(
    databases,
    Array.from({ length: to - from }, (_, index) => from + index + 1),
    size,
  );
  await Promise.all(Object.values(databases).map(vacuum));
  for (const layout of LAYOUTS) {
    await assertTerms(databases[layout], Math.min(to, size.tenantsWithTerms));
  }
}

async function measureStep(
  context: BenchmarkContext,
  size: Size,
  databases: Databases,
  { tenants, before }: Pick<Arena, 'tenants' | 'before'>,
): Promise<Comparison[]> {
  const { connection, settings } = context;
  const arena = { connection, databases, tenants };
  const isJudged = tenants === size.judged;
  const isLast = tenants === size.tenants.at(-1);
  const comparisons = await compareSides(context, size, {
    ...{ ...arena, connections: 1 },
    ...(isLast && { before }),
    // Half of the time (design).
    targets: isJudged ? { transaction: 2 } : {},
  });
  if (!isJudged) {
    return comparisons;
  }
  for (const connections of size.connections) {
    comparisons.push(
      ...(await compareSides(context, size, {
        ...{ ...arena, connections, targets: {} },
      })),
    );
  }
  // Otherwise all of it is.
  if (settings.rttMs === 0) {
    comparisons.push(...(await measureAfar(context, size, arena)));
  }
  return comparisons;
}

async function measureAfar(
  context: BenchmarkContext,
  size: Size,
  arena: Pick<Arena, 'databases' | 'tenants'>,
): Promise<Comparison[]> {
  const proxy = await DelayingProxy.start(context.postgres.connection, RTT_MS);
  try {
    return await compareSides(context, size, {
      ...{ ...arena, connection: proxy.connection, connections: 1 },
      suffix: `, ${RTT_MS} ms away`,
      // At most 1.25 times the time (design).
      targets: { bare: 0.8 },
    });
  } finally {
    await proxy.stop();
  }
}

/** The databases as they are, for a comparison with what they will have grown to. */
async function keepCopies(databases: Databases): Promise<Databases> {
  const copies = { ...databases };
  for (const layout of LAYOUTS) {
    const { postgres, name } = databases[layout];
    copies[layout] = { postgres, name: `${name}_before` };
    await runStatements({ postgres, name: 'postgres' }, [
      `create database ${copies[layout].name} template ${name}`,
    ]);
  }
  return copies;
}

async function describeData(
  { postgres, settings }: BenchmarkContext,
  { entitiesPerTenant, secondsOf }: Size,
  { shared }: Databases,
): Promise<string> {
  const { rows } = await withKnex(postgres, shared.name, knex =>
    knex.raw(
      `select to_char((select count(*) from tenancy.entities), 'FM999,999,999') as entities,
              (select round(avg(length(final_entity::text))) from tenancy.entities) as bytes,
              pg_size_pretty(pg_database_size(current_database())) as size`,
    ),
  );
  const [{ entities, bytes, size }] = rows;
  return (
    `${settings.rounds} rounds of ${secondsOf(
      settings.seconds,
    )} s. Tenants with ${entitiesPerTenant} ` +
    `entities each, in the end ${entities} of ${bytes} characters of JSON on average: ` +
    `${size} with indexes in the default partition`
  );
}

/** Growth from 10 to 1,000 tenants: at most 1.3 times the time (design). */
const GROWTH_TARGET = 0.77;

/** What is measured where. */
interface Situation extends Arena {
  /** What to say of it beyond numbers of tenants and connections. */
  suffix?: string;
  /** Of `getEntity`; against the transaction, where tenants have partitions. */
  targets: { bare?: number; transaction?: number };
}

/** Measures all sides, in all layouts. */
async function compareSides(
  context: BenchmarkContext,
  size: Size,
  situation: Situation,
): Promise<Comparison[]> {
  const contestants = openContestants(situation);
  const all = listContestants(contestants);
  try {
    const comparisons: Comparison[] = [];
    for (const operation of OPERATIONS) {
      context.progress(whatOf(operation, situation));
      await assertSameAnswers(
        all
          .filter(({ tenants }) => tenants === situation.tenants)
          .map(({ side }) => side),
        { operation, size, tenants: situation.tenants },
      );
      const rounds = await measure(context, size, operation, {
        contestants: all,
        connections: situation.connections,
      });
      comparisons.push(
        ...toComparisons(operation, situation, contestants, rounds),
      );
    }
    return comparisons;
  } finally {
    await Promise.all(all.map(({ side }) => side.close()));
  }
}

async function measure(
  { settings }: BenchmarkContext,
  size: Size,
  operation: Operation,
  options: { contestants: Contestant[]; connections: number },
): Promise<Map<Contestant, Measurement[]>> {
  const { contestants, connections } = options;
  const known = new Map<number, Question[]>();
  const questionsOf = (tenants: number) => {
    const questions = known.get(tenants) ?? createQuestions(tenants, size);
    known.set(tenants, questions);
    return questions;
  };
  const sides = contestants.map(({ side, tenants, warmUp }) => {
    const questions = questionsOf(tenants);
    let number = 0;
    const askNext = async () => {
      const question = questions[number % questions.length];
      number += 1;
      await askOne(side, operation, question, size);
    };
    return { side, askNext, warmUps: warmUp ? tenants : 0 };
  });
  for (const { askNext, warmUps } of sides) {
    const ask = async () => {
      for (let count = 0; count < warmUps; count += 1) {
        await askNext();
      }
    };
    await Promise.all(Array.from({ length: connections }, ask));
  }
  const measurements = await measureInTurn(
    sides.map(({ side, askNext }) => ({
      name: side.name,
      measure: seconds => keepBusy(connections, seconds, askNext),
    })),
    { ...settings, seconds: size.secondsOf(settings.seconds) },
  );
  return new Map(
    contestants.map((contestant, index) => [contestant, measurements[index]]),
  );
}

function toComparisons(
  operation: Operation,
  situation: Situation,
  { bare, layouts }: Contestants,
  rounds: Map<Contestant, Measurement[]>,
): Comparison[] {
  const targets = operation === 'getEntity' ? situation.targets : {};
  const sideOf = (contestant: Contestant, name = contestant.side.name) => ({
    name,
    rounds: rounds.get(contestant) ?? [],
  });
  return LAYOUTS.flatMap(layout => {
    const { ours, transaction, policyAlone, before } = layouts[layout];
    const what = `${whatOf(operation, situation)}, ${LAYOUT_NAMES[layout]}`;
    const target = layout === 'partitions' ? targets.transaction : undefined;
    return [
      compare({
        ...{ what, target: targets.bare },
        ...{ ours: sideOf(ours), alternative: sideOf(bare) },
      }),
      compare({
        ...{ what, target },
        ...{ ours: sideOf(ours), alternative: sideOf(transaction) },
      }),
      compare({
        what,
        ...{ ours: sideOf(ours), alternative: sideOf(policyAlone) },
      }),
      ...(before
        ? [
            compare({
              what: `${operation}, growth, ${LAYOUT_NAMES[layout]}`,
              ours: sideOf(ours, `of ${countOf(ours.tenants)}`),
              alternative: sideOf(before, `of ${countOf(before.tenants)}`),
              target: GROWTH_TARGET,
            }),
          ]
        : []),
    ];
  });
}

function whatOf(
  operation: Operation,
  { tenants, connections, suffix = '' }: Situation,
): string {
  const many = connections > 1 ? `, ${connections} connections` : '';
  return `${operation}, ${countOf(tenants)}${many}${suffix}`;
}

/** A side, and how many tenants it is asked about. */
export interface Contestant {
  side: Side;
  tenants: number;
  /** Whether its connections have to see each tenant's partition once. */
  warmUp: boolean;
}

/** All that are measured in turn. */
interface Contestants {
  bare: Contestant;
  layouts: Record<Layout, LayoutContestants>;
}

/** Those whose rows are in the same place. */
interface LayoutContestants {
  ours: Contestant;
  transaction: Contestant;
  policyAlone: Contestant;
  /** Ours with fewer tenants. */
  before?: Contestant;
}

/** Where they are, and with how many connections. */
interface Arena {
  databases: Databases;
  tenants: number;
  connection: PostgresConnection;
  connections: number;
  /** The same with fewer tenants, where growth is measured. */
  before?: { databases: Databases; tenants: number };
}

/** Opens all of them. */
function openContestants(arena: Arena): Contestants {
  const { before, databases, tenants } = arena;
  const open = (
    openSide: (access: Access) => Side,
    database: Database,
    of: number,
    warmUp: boolean,
  ): Contestant => ({
    side: openSide({ ...arena, database }),
    tenants: of,
    warmUp,
  });
  const openLayout = (layout: Layout): LayoutContestants => {
    const warmUp = layout === 'partitions';
    const database = databases[layout];
    return {
      ours: open(openOurs, database, tenants, warmUp),
      transaction: open(openTransactions, database, tenants, warmUp),
      // Its first statement looks at all partitions anyway.
      policyAlone: open(openPolicyAlone, database, tenants, false),
      ...(before && {
        before: open(
          ...([openOurs, before.databases[layout], before.tenants] as const),
          warmUp,
        ),
      }),
    };
  };
  return {
    bare: open(openBare, databases.single, tenants, false),
    layouts: {
      partitions: openLayout('partitions'),
      shared: openLayout('shared'),
    },
  };
}

/** All of them, in the order in which they are measured. */
function listContestants({ bare, layouts }: Contestants): Contestant[] {
  return [
    bare,
    ...LAYOUTS.flatMap(layout => {
      const { ours, transaction, policyAlone, before } = layouts[layout];
      return [ours, transaction, policyAlone, ...(before ? [before] : [])];
    }),
  ];
}

const CHECKED = 20;

/** Reads as a question says, and looks at what comes. */
async function askOne(
  side: Side,
  operation: Operation,
  question: Question,
  { limit }: Size,
): Promise<unknown> {
  if (operation === 'getEntity') {
    const entity = await side.getEntity(question);
    if ((entity as Entity | undefined)?.metadata.name !== question.name) {
      throw new Error(`${side.name} has not found ${question.entityRef}`);
    }
    return entity;
  }
  const rows = await side.listEntities(question, limit);
  const ofTenant = (row: ListedRow) => row.entity_name.endsWith(question.mark);
  if (rows.length !== limit || (side.knowsTenants && !rows.every(ofTenant))) {
    throw new Error(`${side.name} has not listed ${limit} of ${question.mark}`);
  }
  return rows;
}

/**
 * Makes sure that all sides do the same work.
 *
 * The list of a catalog without tenants has entities of all of them: it is compared
 * only where there is a single one.
 *
 * @throws Error that names the side that answers otherwise
 */
export async function assertSameAnswers(
  sides: Side[],
  {
    operation,
    size,
    tenants,
  }: {
    operation: Operation;
    size: Size;
    tenants: number;
  },
): Promise<void> {
  const comparable = sides.filter(
    ({ knowsTenants }) =>
      knowsTenants || operation === 'getEntity' || tenants === 1,
  );
  for (const question of createQuestions(tenants, size).slice(0, CHECKED)) {
    const answers = await Promise.all(
      comparable.map(side => askOne(side, operation, question, size)),
    );
    const other = answers.findIndex(
      answer => !isDeepStrictEqual(answer, answers[0]),
    );
    if (other >= 0) {
      throw new Error(
        `"${comparable[other].name}" and "${comparable[0].name}" answer ${operation} ` +
          `of ${question.entityRef} differently`,
      );
    }
  }
}

/** How many locks a look-up of one entity holds, with the predicate and without. */
async function describeLocks(
  { connection }: BenchmarkContext,
  databases: Databases,
  tenants: number,
): Promise<string> {
  const counts: string[] = [];
  for (const layout of LAYOUTS) {
    const pool = openPool({
      ...{ connection, connections: 1, database: databases[layout] },
    });
    const tenantId = tenantIdOf(tenants);
    const countWith = (predicate: object) =>
      pool.transaction({ tenantId }, async ({ knex, query }) => {
        await query(
          knex('entities')
            .where({ entity_ref: 'component:default/any', ...predicate })
            .select('final_entity'),
        );
        const [{ count }] = await query<{ count: number }>(
          knex.raw(
            `select count(*)::int as count from pg_locks
              where pid = pg_backend_pid() and locktype = 'relation'
                and relation::regclass::text like 'entities%'`,
          ),
        );
        return count;
      });
    try {
      counts.push(
        `in ${LAYOUT_NAMES[layout]} ${await countWith({
          tenant_id: tenantId,
        })}, by the policy alone ${await countWith({})}`,
      );
    } finally {
      await pool.close();
    }
  }
  return `Locks of a look-up, ${countOf(tenants)}: ${counts.join('; ')}`;
}
