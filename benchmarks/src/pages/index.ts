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
import { LinkedEntities } from './entities';
import { assertSameViews, PageServer } from './PageServer';
import { type View, views } from './views';

const FULL: CatalogSize[] = [
  { entities: 5_000 },
  { entities: 50_000 },
  { entities: 500, tenants: 500, sharesPartition: true },
];

const SHORT: CatalogSize[] = [
  { entities: 500, tenants: 5, sharesPartition: true },
];

const TARGET = 2;

/** The target is for catalogs of this size. */
const TARGET_FROM = 50_000;

/** With `tenancy.permissions.maxDecisionAgeMs`: a page is complete before. */
const MAX_DECISION_AGE_MS = 1_000;

/** The contestant whose requests do nothing but what each request of a user has to. */
const NOTHING = 'nothing';

/** How many users look at pages at the same time. */
const USERS = { full: 50, short: 5 };

// V8 compiles what is called often, in several steps: it takes thousands of requests.
const WARM_UP_ROUNDS = 10;

/** What the pages of the stock frontend ask for, against the stock catalog. */
export const pagesBenchmark: Benchmark = {
  name: 'pages',
  rounds: { full: 8, short: 2 },
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
  const { rounds, seconds, short, entities } = context.settings;
  const users = short ? USERS.short : USERS.full;
  const stocks = new Map<number, Database>();
  const comparisons: Comparison[] = [];
  const cpu = new CpuRecorder({ postgres: context.postgres.pid, of: 'a page' });
  const sizes = short ? SHORT : FULL;
  const wanted = entities?.map(
    count => sizes.find(size => size.entities === count) ?? { entities: count },
  );
  for (const size of wanted ?? sizes) {
    const { create } = new LinkedEntities(size.entities);
    const stock =
      stocks.get(size.entities) ??
      (await createStockCatalog(context, size, create));
    stocks.set(size.entities, stock);
    const ours = await createOurCatalog(context, stock, size, create);
    comparisons.push(
      ...(await compareSize(context, { size, stock, ours, users, cpu })),
    );
  }
  return {
    circumstances: `${rounds} rounds of ${seconds} s, one user, and ${users} of them`,
    comparisons,
    figures: cpu.figures,
    notes: [],
  };
}

async function compareSize(
  context: BenchmarkContext,
  options: {
    size: CatalogSize;
    stock: Database;
    ours: Database;
    users: number;
    cpu: CpuRecorder;
  },
): Promise<Comparison[]> {
  const { progress, settings } = context;
  const { size, stock, ours, users, cpu } = options;
  const { only = '' } = settings;
  const description = describeSize(size);
  const common = { context, users };
  const tenant = { database: ours.name, tenant: tenantOf(size) };
  const servers = await startTogether([
    PageServer.start({
      ...common,
      name: 'stock catalog',
      database: stock.name,
    }),
    PageServer.start({ ...common, ...tenant, name: 'ours' }),
  ]);
  try {
    // Only now: one of two backends that create Backstage's tables in one database would fail.
    servers.push(
      await PageServer.start({
        ...common,
        ...tenant,
        name: 'ours, decisions kept',
        maxDecisionAgeMs: MAX_DECISION_AGE_MS,
      }),
    );
    await assertSameViews(servers, views);
    for (const server of servers) {
      progress(`${description}: warming up the ${server.name}`);
      await server
        .viewing(views, 1)
        .measure((settings.short ? 1 : WARM_UP_ROUNDS) * settings.seconds);
    }
    const what = [...new Set(views.map(view => view.what))];
    const comparisons = [];
    for (const viewers of [1, users]) {
      const kinds = viewers === 1 ? [...what, undefined] : [undefined];
      for (const kind of kinds) {
        const name = `${kind ?? 'all of them'}, ${
          viewers === 1 ? 'one user' : `${viewers} users`
        }`;
        if (!name.includes(only)) {
          continue;
        }
        progress(`${description}: ${name}`);
        comparisons.push(
          ...(await compareViews(context, servers, {
            what: `${description}: ${name}`,
            seen: views.filter(
              view => kind === undefined || view.what === kind,
            ),
            users: viewers,
            target: size.entities >= TARGET_FROM ? TARGET : undefined,
            cpu,
          })),
        );
      }
    }
    return comparisons;
  } finally {
    await Promise.all(servers.map(server => server.stop()));
  }
}

async function compareViews(
  context: BenchmarkContext,
  servers: PageServer[],
  options: {
    what: string;
    seen: View[];
    users: number;
    target: number | undefined;
    cpu: CpuRecorder;
  },
): Promise<Comparison[]> {
  const { what, seen, users, target, cpu } = options;
  const [stockServer] = servers;
  const nothing = stockServer.viewing(seen, users, { nothing: NOTHING });
  const contestants = [
    ...servers.map(server =>
      cpu.recorded(what, server.viewing(seen, users), server.pid),
    ),
    // The rest of a page is the stock catalog's own: none that asks for each request gets further.
    cpu.recorded(what, nothing, stockServer.pid),
  ];
  const [[stock, stockRounds], ...ours] = (
    await measureInTurn(contestants, context.settings)
  ).map((rounds, index) => [contestants[index].name, rounds] as const);
  return ours.map(([name, rounds]) =>
    compare({
      what,
      unit: 'pages',
      ours: { name, rounds },
      alternative: { name: stock, rounds: stockRounds },
      target: name === NOTHING ? undefined : target,
    }),
  );
}
