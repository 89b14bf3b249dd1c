import type {
  Benchmark,
  BenchmarkContext,
  BenchmarkResult,
} from '../harness/Benchmark';
import {
  compare,
  type Comparison,
  type Measurement,
} from '../harness/comparison';
import { measureInTurn } from '../harness/rounds';
import {
  type Database,
  runStatements,
  withClient,
} from '../migration/database';
import { type Candidate, withCandidates } from './candidates';
import { SCHEMA } from '../catalog/constants';
import { addTenants, createDatabase } from './database';
import { CREATE_FUNCTION, CREATE_JSON_INDEXES } from './json';
import { QUESTIONS } from './questions';
import { FULL, SHORT } from './sizes';

/** Of the duration without a policy: at most 1.5 times of it (design). */
const TARGET = 1 / 1.5;

/**
 * The ways to find a tenant's entities under row-level security. What is measured is
 * why the store goes by `entity_search`.
 */
export const candidatesBenchmark: Benchmark = {
  name: 'candidates',
  rounds: { full: 7, short: 2 },
  run,
};

async function run(context: BenchmarkContext): Promise<BenchmarkResult> {
  const { postgres, progress, settings } = context;
  const size = settings.short ? SHORT : FULL;
  progress(`filling a tenant with ${size.entities} entities`);
  const database = await createDatabase(postgres, size);
  const termsSize = await sizeOf(database, 'entity_search');
  await runStatements(database, [...CREATE_JSON_INDEXES, ...CREATE_FUNCTION]);
  const comparisons = await measure(context, database, 'alone');

  progress(`adding ${size.otherTenants} tenants`);
  await addTenants(database, size);
  comparisons.push(
    ...(await measure(
      context,
      database,
      `1 of ${size.otherTenants + 1} tenants`,
    )),
  );
  return {
    circumstances:
      `A tenant with ${size.entities.toLocaleString(
        'en',
      )} entities. A page of 20 in ` +
      'the order of names, and how many there are; one request at a time.',
    comparisons,
    notes: [`entity_search of the tenant alone, with indexes: ${termsSize}`],
  };
}

/** Asks each candidate each question, and compares ours with the others. */
async function measure(
  { settings, progress }: BenchmarkContext,
  database: Database,
  where: string,
): Promise<Comparison[]> {
  const { rounds, short } = settings;
  const seconds = (short ? SHORT : FULL).secondsOf(settings.seconds);
  return withCandidates(database, async candidates => {
    const comparisons: Comparison[] = [];
    for (const question of QUESTIONS) {
      progress(`${question.what}, ${where}`);
      const [ours, ...others] = await measureInTurn(
        candidates.map(({ name, ask }) => ({
          name,
          measure: duration => repeat(() => ask(question), duration),
        })),
        { rounds, seconds },
      );
      await assertSameAnswers(candidates, question);
      comparisons.push(
        ...others.map((alternative, index) =>
          compare({
            what: `${question.what}, ${where}`,
            ours: { name: candidates[0].name, rounds: ours },
            alternative: {
              name: candidates[index + 1].name,
              rounds: alternative,
            },
            ...(index === 0 && { target: TARGET }),
          }),
        ),
      );
    }
    return comparisons;
  });
}

async function assertSameAnswers(
  candidates: Candidate[],
  question: (typeof QUESTIONS)[number],
): Promise<void> {
  const answers = await Promise.all(candidates.map(({ ask }) => ask(question)));
  const distinct = new Set(answers.map(answer => JSON.stringify(answer)));
  if (distinct.size !== 1 || answers[0].total === 0) {
    throw new Error(
      `The candidates disagree on ${question.what}: ${[...distinct]}`,
    );
  }
}

/** Asks one after the other for some time, at least once. */
async function repeat(
  ask: () => Promise<unknown>,
  seconds: number,
): Promise<Measurement> {
  const latencies: number[] = [];
  const start = performance.now();
  let now = start;
  while (latencies.length === 0 || now - start < seconds * 1000) {
    const before = now;
    await ask();
    now = performance.now();
    latencies.push(now - before);
  }
  latencies.sort((a, b) => a - b);
  const at = (share: number) =>
    latencies[
      Math.min(latencies.length - 1, Math.floor(latencies.length * share))
    ];
  return {
    count: latencies.length,
    perSecond: (latencies.length * 1000) / (now - start),
    p50: at(0.5),
    p99: at(0.99),
  };
}

async function sizeOf(database: Database, table: string): Promise<string> {
  return withClient(database, async client => {
    const { rows } = await client.query(
      'select pg_size_pretty(pg_total_relation_size($1::regclass)) as size',
      [`${SCHEMA}.${table}`],
    );
    return rows[0].size;
  });
}
