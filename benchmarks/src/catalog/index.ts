import type {
  Benchmark,
  BenchmarkContext,
  BenchmarkResult,
} from '../harness/Benchmark';
import {
  CatalogPairs,
  type CatalogSize,
  describeSize,
  tenantOf,
} from '../harness/catalogs';
import { CatalogServer, NOTHING } from '../harness/CatalogServer';
import {
  compare,
  type Comparison,
  type Contestant,
  measureInTurn,
} from '../harness/comparison';
import { QUIET_SETTINGS } from '../harness/database';
import { startTogether } from '../harness/servers';
import { assertSameAnswers, createScenarios, type Scenario } from './scenarios';

const FULL: CatalogSize[] = [
  { entities: 5_000 },
  { entities: 50_000 },
  { entities: 50_000, tenants: 500 },
];

// The tests of the module show that the default tenant answers like the stock catalog.
const SHORT: CatalogSize[] = [{ entities: 500, tenants: 10 }];

// V8 compiles what is called often, in several steps: it takes thousands of requests.
const WARM_UP_ROUNDS = 15;

const VARIANTS = { full: 200, short: 10 };

/** The read API of the catalog over HTTP, beside that of the stock catalog. */
export const catalogBenchmark: Benchmark = {
  name: 'catalog',
  rounds: { full: 20, short: 2 },
  serverSettings: ({ short }) => ({
    ...QUIET_SETTINGS,
    shared_buffers: short ? '256MB' : '3GB',
  }),
  run,
};

async function run(context: BenchmarkContext): Promise<BenchmarkResult> {
  const { short, rounds, concurrency } = context.settings;
  const seconds = secondsOf(context);
  const pairs = new CatalogPairs(context);
  const comparisons: Comparison[] = [];
  for (const size of short ? SHORT : FULL) {
    const { stock, ours } = await pairs.create(size);
    const servers = await startTogether([
      CatalogServer.start(context, {
        name: 'stock catalog',
        database: stock.name,
      }),
      CatalogServer.start(context, {
        name: 'ours',
        database: ours.name,
        tenant: tenantOf(size),
      }),
    ]);
    try {
      comparisons.push(...(await compareServers(context, size, servers)));
    } finally {
      await Promise.all(servers.map(server => server.stop()));
    }
  }
  return {
    circumstances: `${rounds} rounds of ${seconds} s, ${concurrency} requests at a time`,
    comparisons,
    notes: [],
  };
}

async function compareServers(
  context: BenchmarkContext,
  size: CatalogSize,
  servers: CatalogServer[],
): Promise<Comparison[]> {
  const { short, only, concurrency, rounds } = context.settings;
  const seconds = secondsOf(context);
  const [stock] = servers;
  const scenarios = createScenarios(
    size.entities,
    short ? VARIANTS.short : VARIANTS.full,
  );
  const answering = (server: CatalogServer, { requests }: Scenario) =>
    server.answering(requests, concurrency);
  const compareInTurn = async (
    { what: kind, target }: Pick<Scenario, 'what' | 'target'>,
    contestants: Promise<Contestant>[],
  ): Promise<Comparison> => {
    const what = `${describeSize(size)}: ${kind}`;
    context.progress(what);
    const [alternative, ours] = await measureInTurn(
      await Promise.all(contestants),
      { rounds, seconds },
    );
    return compare({ what, ours, alternative, target });
  };

  // All for as long before any is measured, or the first one would be cold.
  for (const server of servers) {
    const contestant = await answering(server, scenarios[0]);
    await contestant.measure(WARM_UP_ROUNDS * seconds);
  }
  const comparisons = [
    // How much faster a route is that does nothing: no route can be faster than that.
    await compareInTurn({ what: scenarios[0].what }, [
      answering(stock, scenarios[0]),
      stock.answering([NOTHING], concurrency, 'nothing'),
    ]),
  ];
  for (const scenario of wanted(scenarios, only)) {
    await assertSameAnswers(servers, scenario);
    const contestants = servers.map(server => answering(server, scenario));
    comparisons.push(await compareInTurn(scenario, contestants));
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

// There is a lot to measure: a short run is to be over soon.
function secondsOf({ settings }: BenchmarkContext): number {
  return settings.short ? settings.seconds / 4 : settings.seconds;
}
