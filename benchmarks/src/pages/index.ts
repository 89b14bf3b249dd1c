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
import { CatalogServer } from '../harness/CatalogServer';
import { compare, type Comparison, measureInTurn } from '../harness/comparison';
import { QUIET_SETTINGS } from '../harness/database';
import { startInTurn } from '../harness/servers';
import { LinkedEntities } from './entities';
import { assertSameViews, isStockPage, views, Visitors } from './views';

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

/** The row of all pages in turn. */
const EVERYTHING = 'all of them';

/** How many users look at pages at the same time. */
const USERS = { full: 50, short: 5 };

// V8 compiles what is called often, in several steps: it takes thousands of requests.
const WARM_UP_ROUNDS = 10;

/** What the pages of the stock frontend ask for, beside the stock catalog. */
export const pagesBenchmark: Benchmark = {
  name: 'pages',
  rounds: { full: 8, short: 2 },
  serverSettings: ({ short }) => ({
    ...QUIET_SETTINGS,
    shared_buffers: short ? '256MB' : '3GB',
  }),
  run,
};

async function run(context: BenchmarkContext): Promise<BenchmarkResult> {
  const { rounds, seconds, short, entities } = context.settings;
  const sizes = short ? SHORT : FULL;
  const wanted = entities?.map(
    count => sizes.find(size => size.entities === count) ?? { entities: count },
  );
  const pairs = new CatalogPairs(context);
  const comparisons: Comparison[] = [];
  for (const size of wanted ?? sizes) {
    const { create } = new LinkedEntities(size.entities);
    const { stock, ours } = await pairs.create(size, create);
    const servers = await startServers(context, size, stock.name, ours.name);
    try {
      comparisons.push(...(await compareSize(context, size, servers)));
    } finally {
      await Promise.all(servers.map(server => server.stop()));
    }
  }
  return {
    circumstances: `${rounds} rounds of ${seconds} s, one user, and ${usersOf(
      context.settings,
    )} of them`,
    comparisons,
    notes: [],
  };
}

async function startServers(
  context: BenchmarkContext,
  size: CatalogSize,
  stockDatabase: string,
  database: string,
): Promise<CatalogServer[]> {
  const tenant = tenantOf(size);
  const start = (name: string, options: object) => () =>
    CatalogServer.start(context, { name, database, tenant, ...options });
  return startInTurn([
    start('stock catalog', { database: stockDatabase, tenant: undefined }),
    start('ours', {}),
    start('ours, no decision kept', { tenancy: { maxDecisionAgeMs: 0 } }),
  ]);
}

async function compareSize(
  context: BenchmarkContext,
  size: CatalogSize,
  servers: CatalogServer[],
): Promise<Comparison[]> {
  const { progress, settings } = context;
  const users = usersOf(settings);
  const visitors = await Promise.all(servers.map(each => Visitors.of(each)));
  await assertSameViews(visitors);
  const description = describeSize(size);
  const warmUp = settings.short ? 1 : WARM_UP_ROUNDS;
  for (const each of visitors) {
    progress(`${description}: warming up the ${each.server.name}`);
    await each.viewing(views, 1).measure(warmUp * settings.seconds);
  }
  const kinds = [...new Set(views.map(view => view.what))];
  const rows = [
    ...[...kinds, EVERYTHING].map(kind => ({ kind, viewers: 1 })),
    { kind: EVERYTHING, viewers: users },
  ];
  const comparisons: Comparison[] = [];
  for (const { kind, viewers } of rows) {
    const name = `${nameOf(kind)}, ${
      viewers === 1 ? 'one user' : `${viewers} users`
    }`;
    if (name.includes(settings.only ?? '')) {
      const what = `${description}: ${name}`;
      const target = size.entities >= TARGET_FROM ? TARGET : undefined;
      progress(what);
      const options = { what, kind, viewers, target };
      comparisons.push(...(await compareViews(visitors, options, settings)));
    }
  }
  return comparisons;
}

async function compareViews(
  visitors: Visitors[],
  options: {
    what: string;
    kind: string;
    viewers: number;
    target: number | undefined;
  },
  settings: BenchmarkContext['settings'],
): Promise<Comparison[]> {
  const { what, kind, viewers, target } = options;
  const seen = views.filter(view =>
    kind === EVERYTHING ? isStockPage(view) : view.what === kind,
  );
  const [alternative, ...ours] = await measureInTurn(
    visitors.map(each => each.viewing(seen, viewers)),
    settings,
  );
  return ours.map(each =>
    compare({ what, unit: 'pages', ours: each, alternative, target }),
  );
}

/** A kind of page, and how many requests one has at most. */
function nameOf(kind: string): string {
  const counts = views
    .filter(({ what }) => what === kind)
    .map(({ requests }) => requests.length);
  return counts.length > 0 ? `${kind} (${Math.max(...counts)} requests)` : kind;
}

function usersOf({ short }: BenchmarkContext['settings']): number {
  return short ? USERS.short : USERS.full;
}
