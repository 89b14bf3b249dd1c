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

interface Servers {
  stock: CatalogServer;
  ours: CatalogServer;
  /** Ours without the question who is a member. */
  open?: CatalogServer;
}

async function startServers(
  context: BenchmarkContext,
  size: CatalogSize,
  stockDatabase: string,
  database: string,
): Promise<Servers> {
  const tenant = tenantOf(size);
  const [stock, ours] = await startTogether([
    CatalogServer.start(context, {
      name: 'stock catalog',
      database: stockDatabase,
    }),
    CatalogServer.start(context, { name: 'ours', database, tenant }),
  ]);
  if (!size.tenants) {
    return { stock, ours };
  }
  // Not at the same time: two backends would both create Backstage's own tables.
  const [open] = await startTogether([
    CatalogServer.start(context, {
      name: 'ours, not asking who is a member',
      database,
      tenant,
      tenancy: { membership: 'open' },
    }),
    Promise.resolve(ours),
    Promise.resolve(stock),
  ]);
  return { stock, ours, open };
}

/** What is compared on catalogs of one size. */
class SizeMeasurement {
  constructor(
    private readonly context: BenchmarkContext,
    private readonly size: CatalogSize,
    private readonly servers: Servers,
  ) {}

  async run(): Promise<Comparison[]> {
    const { stock, ours, open } = this.servers;
    const { short, only } = this.context.settings;
    const scenarios = await createScenarios(
      stock,
      this.size.entities,
      short ? VARIANTS.short : VARIANTS.full,
    );
    await this.#warmUp(scenarios[0]);
    const comparisons = [await this.#compareWithNothing(scenarios[0])];
    // First, while both have answered as many requests as each other.
    for (const scenario of open ? scenarios.filter(isByName) : []) {
      const what = `${scenario.what}, asking for membership`;
      comparisons.push(
        await this.#compare([open!, ours], {
          ...scenario,
          what,
          target: undefined,
        }),
      );
    }
    for (const scenario of wanted(scenarios, only)) {
      comparisons.push(await this.#compare([stock, ours], scenario));
    }
    return comparisons;
  }

  /** Keeps all busy for as long before any is measured, or the first one would be cold. */
  async #warmUp({ requests }: Scenario): Promise<void> {
    for (const server of Object.values(this.servers)) {
      const contestant = await this.#answering(server, requests);
      await contestant.measure(WARM_UP_ROUNDS * secondsOf(this.context));
    }
  }

  async #compare(
    servers: [CatalogServer, CatalogServer],
    scenario: Scenario,
  ): Promise<Comparison> {
    await assertSameAnswers(servers, scenario);
    const what = this.#describe(scenario.what);
    const contestants: Contestant[] = [];
    for (const server of servers) {
      contestants.push(await this.#answering(server, scenario.requests));
    }
    const [alternative, ours] = await this.#measure(contestants);
    return compare({ what, ours, alternative, target: scenario.target });
  }

  /** How much faster a route is that does nothing: no route can be faster than that. */
  async #compareWithNothing({ what, requests }: Scenario): Promise<Comparison> {
    const { stock } = this.servers;
    const [alternative, ours] = await this.#measure([
      await this.#answering(stock, requests),
      await this.#answering(stock, [NOTHING], 'nothing'),
    ]);
    return compare({ what: this.#describe(what), ours, alternative });
  }

  #answering(
    server: CatalogServer,
    requests: Scenario['requests'],
    name?: string,
  ) {
    const { concurrency } = this.context.settings;
    return server.answering(requests, concurrency, name);
  }

  #measure(contestants: Contestant[]) {
    const { rounds } = this.context.settings;
    const seconds = secondsOf(this.context);
    return measureInTurn(contestants, { rounds, seconds });
  }

  #describe(what: string): string {
    const description = `${describeSize(this.size)}: ${what}`;
    this.context.progress(description);
    return description;
  }
}

async function run(context: BenchmarkContext): Promise<BenchmarkResult> {
  const { short, rounds, concurrency } = context.settings;
  const pairs = new CatalogPairs(context);
  const comparisons: Comparison[] = [];
  for (const size of short ? SHORT : FULL) {
    const { stock, ours } = await pairs.create(size);
    const servers = await startServers(context, size, stock.name, ours.name);
    try {
      const measurement = new SizeMeasurement(context, size, servers);
      comparisons.push(...(await measurement.run()));
    } finally {
      await Promise.all(Object.values(servers).map(each => each?.stop()));
    }
  }
  return {
    circumstances: `${rounds} rounds of ${secondsOf(
      context,
    )} s, ${concurrency} requests at a time`,
    comparisons,
    notes: [],
  };
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

function isByName({ what }: Scenario): boolean {
  return what.startsWith('by name');
}
