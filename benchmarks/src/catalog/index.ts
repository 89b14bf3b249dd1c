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
import type { Comparison } from '../harness/comparison';
import { QUIET_SETTINGS } from '../harness/database';
import {
  compareScenarios,
  warmUp,
  withCatalogServers,
} from '../harness/scenarios';
import { createCatalogEntities, createQueries } from './queries';
import { createScenarios } from './scenarios';

const FULL: CatalogSize[] = [
  { entities: 5_000 },
  { entities: 50_000 },
  { entities: 50_000, tenants: 500 },
];

// The tests of the module show that the default tenant answers like the stock catalog.
const SHORT: CatalogSize[] = [{ entities: 500, tenants: 10 }];

// More are copies of these: an engine, or the adoption, would take hours.
const MADE = 50_000;

const VARIANTS = { full: 200, short: 10 };

/** The read API of the catalog over HTTP, beside that of the stock catalog. */
export const catalogBenchmark: Benchmark = {
  name: 'catalog',
  rounds: { full: 10, short: 2 },
  serverSettings: ({ short }) => ({
    ...QUIET_SETTINGS,
    shared_buffers: short ? '256MB' : '4GB',
    // The log of the copies would take more of the disk than they do.
    max_wal_size: '1GB',
  }),
  run,
};

async function run(context: BenchmarkContext): Promise<BenchmarkResult> {
  const { short, rounds, concurrency, entities } = context.settings;
  const wanted = entities?.map(count => ({
    entities: count,
    made: Math.min(count, MADE),
  }));
  const pairs = new CatalogPairs(context);
  const comparisons: Comparison[] = [];
  for (const size of wanted ?? (short ? SHORT : FULL)) {
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
  const scenarios = createScenarios(size.made ?? size.entities, variants);
  const measuring = {
    prefix: describeSize(size),
    seconds: secondsOf(context),
    connections: concurrency,
  };
  const options = { pairs, size, create: createCatalogEntities };
  return withCatalogServers(context, options, async servers => {
    const { stock, ours } = servers;
    await warmUp([stock, ours], scenarios[0], measuring);
    const all = [...scenarios, ...(await createQueries(stock, size))];
    return compareScenarios(context, servers, all, measuring);
  });
}

// There is a lot to measure: a short run is to be over soon.
function secondsOf({ settings }: BenchmarkContext): number {
  return settings.short ? settings.seconds / 4 : settings.seconds;
}
