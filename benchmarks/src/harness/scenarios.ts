import { isDeepStrictEqual } from 'node:util';
import type { BenchmarkContext } from './Benchmark';
import { type CatalogPairs, type CatalogSize, tenantOf } from './catalogs';
import { type CatalogRequest, CatalogServer } from './CatalogServer';
import { compare, type Comparison, measureInTurn } from './comparison';
import type { CreateEntities } from './entities';
import { startInTurn } from './servers';

/** Some requests of a kind, and how many items the answer to each must have. */
export interface Scenario {
  what: string;
  /** Our least throughput, in that of the stock catalog. */
  target?: number;
  /** Sent in turn. Ours may read once for equal ones at the same time. */
  requests: CatalogRequest[];
  /** Of the items that were asked for, how many an answer has. */
  countOf(answer: any): number;
  /** How many there must be; at least one otherwise. */
  expected?: number;
}

/** How scenarios are measured. */
interface Measuring {
  /** What stands in front of each scenario's name in the report. */
  prefix: string;
  /** How many requests are under way at any time. */
  connections: number;
  seconds: number;
}

// V8 compiles what is called often, in several steps: it takes thousands of requests.
const WARM_UP_ROUNDS = 15;

/** Creates a stock catalog and ours, and starts a server for each while they are used. */
export async function withCatalogServers<T>(
  context: BenchmarkContext,
  options: { pairs: CatalogPairs; size: CatalogSize; create?: CreateEntities },
  use: (servers: { stock: CatalogServer; ours: CatalogServer }) => Promise<T>,
): Promise<T> {
  const { pairs, size, create } = options;
  const databases = await pairs.create(size, create);
  const servers = await startInTurn([
    () =>
      CatalogServer.start(context, {
        name: 'stock catalog',
        database: databases.stock.name,
      }),
    () =>
      CatalogServer.start(context, {
        name: 'ours',
        database: databases.ours.name,
        tenant: tenantOf(size),
      }),
  ]);
  const [stock, ours] = servers;
  try {
    return await use({ stock, ours });
  } finally {
    await Promise.all(servers.map(server => server.stop()));
  }
}

/** Keeps all servers busy for as long before any is measured, or the first one would be cold. */
export async function warmUp(
  servers: CatalogServer[],
  { requests }: Scenario,
  { seconds, connections }: Measuring,
): Promise<void> {
  for (const server of servers) {
    const contestant = await server.answering(requests, connections);
    await contestant.measure(WARM_UP_ROUNDS * seconds);
  }
}

/** Compares our answers to some scenarios with those of the stock catalog. */
export async function compareScenarios(
  context: BenchmarkContext,
  { stock, ours }: { stock: CatalogServer; ours: CatalogServer },
  scenarios: Scenario[],
  measuring: Measuring,
): Promise<Comparison[]> {
  const { progress, settings } = context;
  const { prefix, seconds, connections } = measuring;
  const comparisons: Comparison[] = [];
  for (const scenario of wanted(scenarios, settings.only)) {
    await assertSameAnswers([stock, ours], scenario);
    const what = `${prefix}: ${scenario.what}`;
    progress(what);
    const [alternative, measured] = await measureInTurn(
      await Promise.all(
        [stock, ours].map(server =>
          server.answering(scenario.requests, connections),
        ),
      ),
      { rounds: settings.rounds, seconds },
    );
    const { target } = scenario;
    comparisons.push(compare({ what, ours: measured, alternative, target }));
  }
  return comparisons;
}

/** @throws Error if there are none */
function wanted(scenarios: Scenario[], only = ''): Scenario[] {
  const exactly = scenarios.filter(({ what }) => what === only);
  const some = exactly.length
    ? exactly
    : scenarios.filter(({ what }) => what.includes(only));
  if (some.length === 0) {
    const known = scenarios.map(({ what }) => what).join('; ');
    throw new Error(`There are no requests "${only}". There are: ${known}`);
  }
  return some;
}

/**
 * Makes sure that all servers do the same work.
 *
 * @throws Error that names the server whose answer differs, or has other items than expected
 */
async function assertSameAnswers(
  [reference, ...others]: CatalogServer[],
  { what, requests, countOf, expected }: Scenario,
): Promise<void> {
  for (const request of requests) {
    const answer = await reference.answer(request);
    const count = countOf(answer);
    if (count === 0 || (expected !== undefined && count !== expected)) {
      throw new Error(
        `${what}: ${count} items, ${expected ?? 'some'} expected`,
      );
    }
    for (const server of others) {
      const other = await server.answer(request);
      if (!isDeepStrictEqual(other, answer)) {
        const [a, b] = [other, answer].map(excerpt);
        throw new Error(
          `${what}: "${server.name}" and "${reference.name}" answer ` +
            `${request.path} differently: ${a}, ${b}`,
        );
      }
    }
  }
}

function excerpt(answer: unknown): string {
  return JSON.stringify(answer).slice(0, 500);
}
