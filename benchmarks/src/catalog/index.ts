import type {
  Benchmark,
  BenchmarkContext,
  BenchmarkResult,
} from '../harness/Benchmark';
import {
  CatalogPairs,
  type CatalogSize,
  describeSize,
} from '../harness/catalogs';
import { NOTHING } from '../harness/CatalogServer';
import type { Comparison } from '../harness/comparison';
import { QUIET_SETTINGS } from '../harness/database';
import {
  compareInTurn,
  compareScenarios,
  warmUp,
  withCatalogServers,
} from '../harness/scenarios';
import { createScenarios } from './scenarios';

const FULL: CatalogSize[] = [
  { entities: 5_000 },
  { entities: 50_000 },
  { entities: 50_000, tenants: 500 },
];

// The tests of the module show that the default tenant answers like the stock catalog.
const SHORT: CatalogSize[] = [{ entities: 500, tenants: 10 }];

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
  const pairs = new CatalogPairs(context);
  const comparisons: Comparison[] = [];
  for (const size of short ? SHORT : FULL) {
    comparisons.push(...(await compareSize(context, pairs, size)));
  }
  return {
    circumstances: `${rounds} rounds of ${secondsOf(
      context,
    )} s, ${concurrency} requests at a time`,
    comparisons,
    notes: [],
  };
}

async function compareSize(
  context: BenchmarkContext,
  pairs: CatalogPairs,
  size: CatalogSize,
): Promise<Comparison[]> {
  const { short, concurrency } = context.settings;
  const variants = short ? VARIANTS.short : VARIANTS.full;
  const scenarios = createScenarios(size.entities, variants);
  const [byName] = scenarios;
  const measuring = {
    prefix: describeSize(size),
    seconds: secondsOf(context),
    connections: concurrency,
  };
  return withCatalogServers(context, { pairs, size }, async servers => {
    const { stock, ours } = servers;
    await warmUp([stock, ours], byName, measuring);
    // How much faster a route is that does nothing: no route can be faster than that.
    const bound = await compareInTurn(
      context,
      { what: byName.what },
      [
        stock.answering(byName.requests, concurrency),
        stock.answering([NOTHING], concurrency, 'nothing'),
      ],
      measuring,
    );
    return [
      bound,
      ...(await compareScenarios(context, servers, scenarios, measuring)),
    ];
  });
}

// There is a lot to measure: a short run is to be over soon.
function secondsOf({ settings }: BenchmarkContext): number {
  return settings.short ? settings.seconds / 4 : settings.seconds;
}
