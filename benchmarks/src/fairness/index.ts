import { POOL_SIZE } from '../harness/backend';
import type {
  Benchmark,
  BenchmarkContext,
  BenchmarkResult,
  FigureTable,
} from '../harness/Benchmark';
import {
  adoptCatalog,
  createEmptyCatalog,
  createTenant,
} from '../harness/catalogs';
import { CatalogServer } from '../harness/CatalogServer';
import {
  compare,
  formatRatio,
  type Measured,
  measureInTurn,
  ratioOf,
  spreadOf,
} from '../harness/comparison';
import { type Database, vacuum } from '../harness/database';
import {
  keepAskingFor,
  type LoadMeasurement,
  type LoadRequest,
} from '../harness/load';
import { verdictOf } from '../harness/report';
import { startTogether } from '../harness/servers';
import { NoisyClients } from './NoisyClients';
import { NOISE, quietReads } from './requests';

/** How much there is to ask for. */
interface Size {
  /** Entities of the quiet tenant. */
  quiet: number;
  /** Entities of the noisy tenant. */
  noisy: number;
  /** How long a measurement is, in the unit of `--seconds`. */
  seconds: number;
}

const FULL: Size = { quiet: 100, noisy: 5_000, seconds: 3 };
const SHORT: Size = { quiet: 30, noisy: 200, seconds: 1 };

/** Heavy requests of the noisy tenant that are under way at any time. */
const REQUESTS = 20;

/** The greatest median of a quiet tenant beside a noisy one, in that of being alone. */
const TARGET = 2;

/** A quiet tenant alone, and beside a noisy one with and without limits. */
export const fairnessBenchmark: Benchmark = {
  name: 'fairness',
  rounds: { full: 5, short: 1 },
  run,
};

/** A backend, and what the quiet tenant asks it for. */
interface Side {
  server: CatalogServer;
  reads: LoadRequest[];
}

async function run(context: BenchmarkContext): Promise<BenchmarkResult> {
  const { progress, settings } = context;
  const size = settings.short ? SHORT : FULL;
  progress(`creating a tenant with ${size.noisy} entities`);
  const database = await createTenants(context, size);
  const servers = await startServers(context, database);
  try {
    const sides: Side[] = [];
    for (const server of servers) {
      const reads = await server.check(quietReads(size.quiet), 'quiet');
      sides.push({ server, reads });
    }
    const [limited, unlimited] = sides;
    const results: NoiseResult[] = [];
    for (const [kind, noise] of Object.entries(NOISE)) {
      const what = `${REQUESTS} × ${kind}`;
      progress(`a quiet tenant beside ${what}`);
      results.push(
        await measureNoise(
          what,
          noise,
          { limited, unlimited },
          {
            rounds: settings.rounds,
            seconds: settings.seconds * size.seconds,
          },
        ),
      );
    }
    return report(size, results);
  } finally {
    await Promise.all(servers.map(server => server.stop()));
  }
}

async function createTenants(
  { postgres }: BenchmarkContext,
  { quiet, noisy }: Size,
): Promise<Database> {
  const database = await createEmptyCatalog({ postgres, name: 'fairness' });
  await adoptCatalog(database);
  await createTenant(database, { slug: 'quiet', entities: quiet });
  await createTenant(database, { slug: 'noisy', entities: noisy });
  await vacuum(database);
  return database;
}

async function startServers(
  context: BenchmarkContext,
  { name: database }: Database,
): Promise<CatalogServer[]> {
  const tenant = 'noisy';
  const limited = await CatalogServer.start(context, {
    name: 'with limits',
    database,
    tenant,
  });
  const unlimited = CatalogServer.start(context, {
    name: 'without limits',
    database,
    tenant,
    // As many as there are connections: no tenant waits for its own.
    tenancy: { concurrency: POOL_SIZE },
  });
  return startTogether([Promise.resolve(limited), unlimited]);
}

/** What a quiet tenant and a noisy one got of both backends. */
interface NoiseResult {
  what: string;
  alone: Measured<LoadMeasurement>;
  unlimited: Measured<LoadMeasurement>;
  limited: Measured<LoadMeasurement>;
  /** Without limits, and with them. */
  noise: Measured<LoadMeasurement>[];
}

/** Alone, without limits and with them, in turn. */
async function measureNoise(
  what: string,
  noise: (typeof NOISE)[keyof typeof NOISE],
  sides: { limited: Side; unlimited: Side },
  howLong: { rounds: number; seconds: number },
): Promise<NoiseResult> {
  const noisy = [sides.unlimited, sides.limited].map(side => ({
    ...side,
    name: side.server.name,
    clients: new NoisyClients({
      url: side.server.url,
      requests: noise.map(request => side.server.complete(request)),
      connections: REQUESTS,
    }),
  }));
  try {
    const [alone, unlimited, limited] = await measureInTurn(
      [
        {
          name: 'alone',
          measure: seconds => readQuietly(sides.limited, seconds),
        },
        ...noisy.map(({ name, clients, ...side }) => ({
          name,
          measure: (seconds: number) =>
            clients.during(() => readQuietly(side, seconds)),
        })),
      ],
      howLong,
    );
    return {
      ...{ what, alone, unlimited, limited },
      noise: noisy.map(({ name, clients: { rounds } }) => ({ name, rounds })),
    };
  } finally {
    await Promise.all(noisy.map(({ clients }) => clients.stop()));
  }
}

/** A round in which all were refused has no median: it lasts until one is answered. */
async function readQuietly(
  { server, reads }: Side,
  seconds: number,
): Promise<LoadMeasurement> {
  const options = { connections: 1, allowRefusals: true };
  for (;;) {
    const round = await keepAskingFor(seconds, server.url, reads, options);
    if (round.count > 0) {
      return round;
    }
  }
}

function report(size: Size, results: NoiseResult[]): BenchmarkResult {
  return {
    circumstances:
      `A quiet tenant with ${size.quiet} entities and one request at a time, beside ` +
      `${REQUESTS} heavy requests of one with ${size.noisy}; ${POOL_SIZE} connections`,
    comparisons: results.map(({ what, limited, unlimited }) =>
      compare({
        what: `quiet, beside ${what}`,
        ours: limited,
        alternative: unlimited,
      }),
    ),
    figures: [quietTable(results), noiseTable(results)],
    notes: results.map(({ what, limited, alone }) => {
      const ratio = ratioOf(limited, alone, ({ p50 }) => p50);
      return (
        `Beside ${what}: the median is ${formatRatio(
          ratio,
        )} that of being alone; ` +
        `target ≤ ${TARGET}×: ${verdictOf(ratio.median <= TARGET)}`
      );
    }),
  };
}

function quietTable(results: NoiseResult[]): FigureTable {
  const cells = (
    side: Measured<LoadMeasurement>,
    alone: Measured<LoadMeasurement>,
    share: 'p50' | 'p95',
  ) => [
    spreadOf(side.rounds.map(round => round[share])).median.toFixed(1),
    formatRatio(ratioOf(side, alone, round => round[share])),
  ];
  return {
    title:
      'Milliseconds of a request of the quiet tenant: median over the rounds, and ' +
      'against being alone, with the smallest and the largest',
    head: ['beside', 'side', 'p50', 'ratio', 'p95', 'ratio'],
    rows: results.flatMap(({ what, alone, unlimited, limited }) =>
      [alone, unlimited, limited].map(side => [
        ...[what, side.name],
        ...cells(side, alone, 'p50'),
        ...cells(side, alone, 'p95'),
      ]),
    ),
  };
}

function noiseTable(results: NoiseResult[]): FigureTable {
  const sum = (values: number[]) => values.reduce((a, b) => a + b, 0);
  const median = (values: number[]) => spreadOf(values).median.toFixed(1);
  return {
    title: 'What the noisy tenant got, warm-up included',
    head: ['noise', 'side', 'answered', 'req/s', 'p50 ms', 'p99 ms', 'refused'],
    rows: results.flatMap(({ what, noise }) =>
      noise.map(({ name, rounds }) => [
        ...[what, name, sum(rounds.map(round => round.count))],
        median(rounds.map(({ perSecond }) => perSecond)),
        median(rounds.map(({ p50 }) => p50)),
        median(rounds.map(({ p99 }) => p99)),
        sum(rounds.map(({ refused }) => refused)),
      ]),
    ),
  };
}
