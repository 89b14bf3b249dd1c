import type {
  Benchmark,
  BenchmarkContext,
  BenchmarkResult,
} from '../harness/Benchmark';
import {
  type CatalogSize,
  createOurCatalog,
  createStockCatalog,
  describeSize,
  tenantOf,
} from '../harness/catalogDatabases';
import { compare, type Comparison, measureInTurn } from '../harness/comparison';
import { CpuRecorder } from '../harness/cpuTime';
import type { Database } from '../harness/database';
import { startTogether } from '../harness/servers';
import {
  assertSameAnswers,
  CatalogServer,
  createScenarios,
  NOTHING_PATH,
  type Scenario,
} from './requests';

export const FULL: CatalogSize[] = [
  { entities: 5_000 },
  { entities: 50_000 },
  { entities: 50_000, tenants: 500 },
];

// Each takes two backends. That the default tenant's answers are the stock catalog's,
// the tests of the module show.
export const SHORT: CatalogSize[] = [{ entities: 500, tenants: 10 }];

// V8 compiles what is called often, in several steps: it takes thousands of requests.
const WARM_UP_ROUNDS = 15;

const VARIANTS = { full: 200, short: 10 };

/** The read API of the catalog over HTTP, against that of the stock catalog. */
export const catalogBenchmark: Benchmark = {
  name: 'catalog',
  rounds: { full: 20, short: 2 },
  serverSettings: ({ short }) => ({
    // What runs now and then would hit one side only.
    autovacuum: 'off',
    checkpoint_timeout: '1h',
    max_wal_size: '16GB',
    // All data stays in memory.
    shared_buffers: short ? '256MB' : '3GB',
  }),
  run,
};

async function run(context: BenchmarkContext): Promise<BenchmarkResult> {
  const { rounds, concurrency } = context.settings;
  const seconds = secondsOf(context);
  const sizes = context.settings.short ? SHORT : FULL;
  // One for all sizes that have as many entities.
  const stocks = new Map<number, Database>();
  const comparisons: Comparison[] = [];
  const cpu = new CpuRecorder({ postgres: context.postgres.pid });
  for (const size of sizes) {
    const stock =
      stocks.get(size.entities) ?? (await createStockCatalog(context, size));
    stocks.set(size.entities, stock);
    comparisons.push(...(await compareSize(context, stock, size, cpu)));
  }
  return {
    circumstances: `${rounds} rounds of ${seconds} s, ${concurrency} requests at a time`,
    comparisons,
    figures: cpu.figures,
    notes: [],
  };
}

async function compareSize(
  context: BenchmarkContext,
  stock: Database,
  size: CatalogSize,
  cpu: CpuRecorder,
): Promise<Comparison[]> {
  const { progress, settings } = context;
  const description = describeSize(size);
  const ours = await createOurCatalog(context, stock, size);
  const servers = await startTogether([
    CatalogServer.start({
      name: 'stock catalog',
      database: stock.name,
      context,
    }),
    CatalogServer.start({
      name: 'ours',
      database: ours.name,
      context,
      tenant: tenantOf(size),
    }),
  ]);
  const [stockServer, ourServer] = servers;
  try {
    if (size.tenants) {
      // After the other one on its database: of two backends that create Backstage's own
      // tables at the same time, one does not start.
      servers.push(
        await CatalogServer.start({
          name: 'ours, not asking who is a member',
          database: ours.name,
          context,
          tenant: tenantOf(size),
          membership: 'open',
        }),
      );
    }
    const openServer = servers.at(2);
    const scenarios = await createScenarios(
      servers[0],
      size.entities,
      settings.short ? VARIANTS.short : VARIANTS.full,
    );
    await warmUp(context, servers, scenarios[0]);
    const compared = [stockServer, ourServer];
    const comparisons = [
      await compareWithNothing(
        context,
        servers[0],
        scenarios[0],
        description,
        cpu,
      ),
    ];
    // First, while both have answered as many requests as each other.
    if (openServer) {
      for (const scenario of scenarios.filter(isByName)) {
        progress(`${description}: ${scenario.what}, membership`);
        comparisons.push(
          await compareServers(
            context,
            [openServer, ourServer],
            {
              ...scenario,
              what: `${scenario.what}, asking for membership`,
              target: undefined,
            },
            description,
            cpu,
          ),
        );
      }
    }
    for (const scenario of wanted(scenarios, settings)) {
      progress(`${description}: ${scenario.what}`);
      comparisons.push(
        await compareServers(context, compared, scenario, description, cpu),
      );
    }
    return comparisons;
  } finally {
    await Promise.all(servers.map(server => server.stop()));
  }
}

/**
 * Keeps all busy for as long, before any is measured: or the first requests would be
 * answered by a backend that has answered others before, and by one that has not.
 */
async function warmUp(
  context: BenchmarkContext,
  servers: CatalogServer[],
  { requests }: Scenario,
): Promise<void> {
  for (const server of servers) {
    const contestant = await server.answering(requests);
    await contestant.measure(WARM_UP_ROUNDS * secondsOf(context));
  }
}

/** @throws Error if there are none */
function wanted(
  scenarios: Scenario[],
  { only = '' }: BenchmarkContext['settings'],
): Scenario[] {
  const exactly = scenarios.filter(({ what }) => what === only);
  const some = exactly.length
    ? exactly
    : scenarios.filter(({ what }) => what.includes(only));
  if (some.length === 0) {
    throw new Error(
      `There are no requests "${only}". There are: ${scenarios
        .map(({ what }) => what)
        .join('; ')}`,
    );
  }
  return some;
}

async function compareServers(
  context: BenchmarkContext,
  servers: CatalogServer[],
  scenario: Scenario,
  description: string,
  cpu: CpuRecorder,
): Promise<Comparison> {
  await assertSameAnswers(servers, scenario);
  const what = `${description}: ${scenario.what}`;
  const [alternative, ours] = await Promise.all(
    servers.map(async server =>
      cpu.recorded(what, await server.answering(scenario.requests), server.pid),
    ),
  );
  const [stockRounds, ourRounds] = await measureInTurn([alternative, ours], {
    ...context.settings,
    seconds: secondsOf(context),
  });
  return compare({
    what,
    ours: { name: ours.name, rounds: ourRounds },
    alternative: { name: alternative.name, rounds: stockRounds },
    target: scenario.target,
  });
}

/**
 * What the stock catalog has to itself of a request for one entity. How much faster a
 * route that does nothing is, no route can be.
 */
async function compareWithNothing(
  context: BenchmarkContext,
  stock: CatalogServer,
  { what, requests }: Scenario,
  description: string,
  cpu: CpuRecorder,
): Promise<Comparison> {
  context.progress(`${description}: nothing`);
  const name = 'nothing';
  const contestants = [
    await stock.answering(requests),
    cpu.recorded(
      `${description}: ${name}`,
      await stock.answering([{ method: 'GET', path: NOTHING_PATH }], name),
      stock.pid,
    ),
  ];
  const [stockRounds, rounds] = await measureInTurn(contestants, {
    ...context.settings,
    seconds: secondsOf(context),
  });
  return compare({
    what: `${description}: ${what}`,
    ours: { name, rounds },
    alternative: { name: stock.name, rounds: stockRounds },
  });
}

// There is a lot to measure: what is only to show that it works is to be over soon.
function secondsOf({ settings }: BenchmarkContext): number {
  return settings.short ? settings.seconds / 4 : settings.seconds;
}

function isByName({ what }: Scenario): boolean {
  return what.startsWith('by name');
}
