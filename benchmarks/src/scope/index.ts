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
  type Contestant,
  type Measured,
  measureInTurn,
} from '../harness/comparison';
import {
  createDatabase,
  type Database,
  QUIET_SETTINGS,
  vacuum,
} from '../harness/database';
import { withDelay } from '../harness/delayingProxy';
import { keepBusy } from '../harness/load';
import {
  addTenants,
  countOf,
  createDatabases,
  createQuestions,
  type Databases,
  FULL,
  LAYOUT_NAMES,
  LAYOUTS,
  type Question,
  SHORT,
  type Size,
} from './data';
import {
  type Access,
  openBare,
  openOurs,
  openTransactions,
  type Side,
} from './sides';

/** How far away the database is in one of the situations, in milliseconds. */
const RTT_MS = 1;

// At most half of the time, 1.25 times and 1.3 times the time.
const TRANSACTION_TARGET = 2;
const BARE_TARGET = 0.8;
const GROWTH_TARGET = 0.77;

/** How many questions all sides have to answer the same. */
const CHECKED = 20;

/** What the tenant scope costs a read, with few and with many tenants. */
export const scopeBenchmark: Benchmark = {
  name: 'scope',
  rounds: { full: 5, short: 2 },
  serverSettings: ({ short }) => ({
    ...QUIET_SETTINGS,
    // Far less than is filled, which takes enough of the disk.
    max_wal_size: '4GB',
    shared_buffers: short ? '256MB' : '6GB',
    // A query that names no tenant locks every partition.
    max_locks_per_transaction: '1024',
  }),
  run,
};

async function run(context: BenchmarkContext): Promise<BenchmarkResult> {
  const { postgres, progress, settings } = context;
  const size = settings.short ? SHORT : FULL;
  const databases = await createDatabases(postgres, size);
  const comparisons: Comparison[] = [];
  let before: Situation['before'];
  for (const [index, tenants] of size.tenants.entries()) {
    progress(`filling ${countOf(tenants)}`);
    await grow(databases, size.tenants[index - 1] ?? 0, tenants);
    for (const situation of situationsOf(size, tenants)) {
      const isLast = tenants === size.tenants.at(-1) && !situation.suffix;
      const full = { ...situation, databases, ...(isLast && { before }) };
      const { rttMs } = situation;
      const on = (connection: PostgresConnection) =>
        compareSides(context, connection, size, full);
      comparisons.push(
        ...(rttMs
          ? await withDelay(postgres.connection, rttMs, on)
          : await on(postgres.connection)),
      );
    }
    if (tenants === size.growsFrom) {
      before = { databases: await keepCopies(databases), tenants };
    }
  }
  return {
    circumstances: `${settings.rounds} rounds of ${secondsOf(
      settings,
    )} s; tenants have ${size.entitiesPerTenant} entities each`,
    comparisons,
    notes: [],
  };
}

async function grow(
  databases: Databases,
  from: number,
  to: number,
): Promise<void> {
  await addTenants(
    databases,
    Array.from({ length: to - from }, (_, index) => from + index + 1),
  );
  await Promise.all(Object.values(databases).map(vacuum));
}

/** The databases as they are, for a comparison with what they will have grown to. */
async function keepCopies(databases: Databases): Promise<Databases> {
  const copies = { ...databases };
  for (const layout of LAYOUTS) {
    const { postgres, name } = databases[layout];
    const copy = `${name}_before`;
    copies[layout] = await createDatabase(postgres, copy, databases[layout]);
  }
  return copies;
}

/** With how many tenants, and from how far away, the sides are measured. */
interface Situation {
  tenants: number;
  databases: Databases;
  /** How far away the database is, in milliseconds, where it is not on this machine. */
  rttMs?: number;
  /** Follows the number of tenants in the report. */
  suffix: string;
  /** Against the transaction, where tenants have partitions. */
  targets: { bare?: number; transaction?: number };
  /** The same with fewer tenants, where growth is measured. */
  before?: { databases: Databases; tenants: number };
}

function situationsOf(
  { judged }: Size,
  tenants: number,
): Array<Omit<Situation, 'databases' | 'before'>> {
  if (tenants !== judged) {
    return [{ tenants, suffix: '', targets: {} }];
  }
  const transaction = TRANSACTION_TARGET;
  const here = { tenants, suffix: '', targets: { transaction } };
  const suffix = `, ${RTT_MS} ms away`;
  const targets = { bare: BARE_TARGET };
  return [here, { tenants, rttMs: RTT_MS, suffix, targets }];
}

/** A side, and how many tenants it is asked about. */
interface Reader {
  side: Side;
  tenants: number;
  /** Whether its connection has to see each tenant's partition once. */
  warmUp: boolean;
}

async function compareSides(
  context: BenchmarkContext,
  connection: PostgresConnection,
  size: Size,
  situation: Situation,
): Promise<Comparison[]> {
  const readers = openReaders(connection, situation);
  try {
    context.progress(whatOf(situation));
    await assertSameAnswers(readers, size, situation.tenants);
    return toComparisons(situation, await measure(context, size, readers));
  } finally {
    await Promise.all(readers.map(({ side }) => side.close()));
  }
}

/** The bare query, and for each layout the others, with ours on fewer tenants as the last. */
function openReaders(
  connection: PostgresConnection,
  { databases, tenants, before }: Situation,
): Reader[] {
  const open = (
    openSide: (access: Access) => Side,
    database: Database,
    warmUp: boolean,
    of = tenants,
  ): Reader => {
    const side = openSide({ connection, database });
    return { side, tenants: of, warmUp };
  };
  return [
    open(openBare, databases.single, false),
    ...LAYOUTS.flatMap(layout => {
      const database = databases[layout];
      const warmUp = layout === 'partitions';
      return [
        open(openOurs, database, warmUp),
        open(openTransactions, database, warmUp),
        ...(before
          ? [open(openOurs, before.databases[layout], warmUp, before.tenants)]
          : []),
      ];
    }),
  ];
}

async function measure(
  { settings }: BenchmarkContext,
  size: Size,
  readers: Reader[],
): Promise<Measured[]> {
  const contestants: Contestant[] = [];
  for (const { side, tenants, warmUp } of readers) {
    const questions = createQuestions(tenants, size);
    let number = 0;
    const askNext = async () => {
      const question = questions[number % questions.length];
      number += 1;
      await askOne(side, question);
    };
    for (let count = 0; count < (warmUp ? tenants : 0); count += 1) {
      await askNext();
    }
    contestants.push({
      name: side.name,
      measure: seconds => keepBusy(1, seconds, askNext),
    });
  }
  const { rounds } = settings;
  return measureInTurn(contestants, { rounds, seconds: secondsOf(settings) });
}

function toComparisons(
  situation: Situation,
  [bare, ...others]: Measured[],
): Comparison[] {
  const { tenants, targets, before } = situation;
  const length = others.length / LAYOUTS.length;
  return LAYOUTS.flatMap((layout, index) => {
    const of = others.slice(index * length, (index + 1) * length);
    const [ours, transaction, earlier] = of;
    const where = LAYOUT_NAMES[layout];
    const what = `${whatOf(situation)}, ${where}`;
    const target = layout === 'partitions' ? targets.transaction : undefined;
    return [
      compare({ what, ours, alternative: bare, target: targets.bare }),
      compare({ what, ours, alternative: transaction, target }),
      ...(before
        ? [
            compare({
              what: `getEntity, growth, ${where}`,
              ours: { ...ours, name: `of ${countOf(tenants)}` },
              alternative: {
                ...earlier,
                name: `of ${countOf(before.tenants)}`,
              },
              target: GROWTH_TARGET,
            }),
          ]
        : []),
    ];
  });
}

function whatOf({ tenants, suffix }: Situation): string {
  return `getEntity, ${countOf(tenants)}${suffix}`;
}

/** @throws Error if the answer is none to the question */
async function askOne(side: Side, question: Question): Promise<unknown> {
  const entity = await side.getEntity(question);
  if ((entity as Entity | undefined)?.metadata.name !== question.name) {
    throw new Error(`${side.name} has not found ${question.entityRef}`);
  }
  return entity;
}

/**
 * Makes sure that all sides do the same work.
 *
 * @throws Error that names the side that answers otherwise
 */
async function assertSameAnswers(
  readers: Reader[],
  size: Size,
  tenants: number,
): Promise<void> {
  const sides = readers
    .filter(reader => reader.tenants === tenants)
    .map(({ side }) => side);
  for (const question of createQuestions(tenants, size).slice(0, CHECKED)) {
    const [first, ...others] = await Promise.all(
      sides.map(side => askOne(side, question)),
    );
    const other = others.findIndex(answer => !isDeepStrictEqual(answer, first));
    if (other >= 0) {
      throw new Error(
        `"${sides[other + 1].name}" and "${sides[0].name}" answer ` +
          `getEntity of ${question.entityRef} differently`,
      );
    }
  }
}

// There is a lot to measure: a short run is to be over soon.
function secondsOf({ short, seconds }: BenchmarkContext['settings']): number {
  return short ? seconds / 10 : seconds;
}
