import type {
  Benchmark,
  BenchmarkContext,
  BenchmarkResult,
} from '../harness/Benchmark';
import { CatalogPairs, describeSize } from '../harness/catalogs';
import type { Comparison } from '../harness/comparison';
import { QUIET_SETTINGS } from '../harness/database';
import {
  compareScenarios,
  warmUp,
  withCatalogServers,
} from '../harness/scenarios';
import { createBatteryEntities, createQueries } from './queries';

// Upstream's own battery has 740,000: `--entities 740000`.
const ENTITIES = { full: 50_000, short: 2_000 };

/** The others are copies of these. */
const MADE = { full: 5_000, short: 500 };

// A page asks one thing after the other. Several at a time would share equal reads.
const CONNECTIONS = 1;

/** The kinds of queries of upstream's battery, in one large tenant, beside the stock catalog. */
export const batteryBenchmark: Benchmark = {
  name: 'battery',
  rounds: { full: 5, short: 2 },
  serverSettings: ({ short }) => ({
    ...QUIET_SETTINGS,
    shared_buffers: short ? '256MB' : '4GB',
    // The log of the copies would take more of the disk than they do.
    max_wal_size: '1GB',
  }),
  run,
};

async function run(context: BenchmarkContext): Promise<BenchmarkResult> {
  const { short, rounds, seconds, entities } = context.settings;
  const pairs = new CatalogPairs(context);
  const comparisons: Comparison[] = [];
  for (const count of entities ?? [short ? ENTITIES.short : ENTITIES.full]) {
    const made = Math.min(count, short ? MADE.short : MADE.full);
    const size = { entities: count, made };
    const measuring = {
      prefix: describeSize(size),
      connections: CONNECTIONS,
      seconds,
    };
    comparisons.push(
      ...(await withCatalogServers(
        context,
        { pairs, size, create: createBatteryEntities },
        async servers => {
          const queries = await createQueries(servers.stock, size);
          await warmUp([servers.stock, servers.ours], queries[0], measuring);
          return compareScenarios(context, servers, queries, measuring);
        },
      )),
    );
  }
  return {
    circumstances: `${rounds} rounds of ${seconds} s, one request at a time`,
    comparisons,
    notes: [],
  };
}
