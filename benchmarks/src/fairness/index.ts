import { POOL_SIZE } from '../harness/backend';
import type {
  Benchmark,
  BenchmarkContext,
  BenchmarkResult,
} from '../harness/Benchmark';
import {
  adoptCatalog,
  createEmptyCatalog,
  createTenant,
} from '../harness/catalogs';
import type { TenancySettings } from '../harness/catalogBackend';
import { type CatalogRequest, CatalogServer } from '../harness/CatalogServer';
import {
  compare,
  type Comparison,
  type Measurement,
  measureInTurn,
} from '../harness/comparison';
import { type Database, vacuum } from '../harness/database';
import { keepAskingFor, type LoadRequest } from '../harness/load';
import { startInTurn } from '../harness/servers';
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
const SHORT: Size = { quiet: 100, noisy: 200, seconds: 1 };

/** Heavy requests of the noisy tenant that are under way at any time. */
const REQUESTS = 20;

/** What a quiet tenant gets at least beside a noisy one: a request takes twice as long. */
const TARGET = 0.5;

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
    const comparisons: Comparison[] = [];
    for (const [kind, noise] of Object.entries(NOISE)) {
      const what = `${REQUESTS} × ${kind}`;
      progress(`a quiet tenant beside ${what}`);
      comparisons.push(
        ...(await compareBeside(what, noise, sides, {
          rounds: settings.rounds,
          seconds: settings.seconds * size.seconds,
        })),
      );
    }
    return {
      circumstances:
        `A quiet tenant with ${size.quiet} entities and one request at a time, beside ` +
        `${REQUESTS} heavy requests of one with ${size.noisy}; ${POOL_SIZE} connections`,
      comparisons,
      notes: [],
    };
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
  const start = (name: string, tenancy?: TenancySettings) => () =>
    CatalogServer.start(context, { name, database, tenant: 'noisy', tenancy });
  return startInTurn([
    start('with limits'),
    // As many as there are connections: no tenant waits for its own.
    start('without limits', { concurrency: POOL_SIZE }),
  ]);
}

/** Alone, without limits and with them, in turn. */
async function compareBeside(
  what: string,
  noise: CatalogRequest[],
  [limited, unlimited]: Side[],
  howLong: { rounds: number; seconds: number },
): Promise<Comparison[]> {
  const noisy = [limited, unlimited].map(side => ({
    side,
    clients: new NoisyClients({
      url: side.server.url,
      requests: noise.map(request => side.server.complete(request)),
      connections: REQUESTS,
    }),
  }));
  try {
    const [alone, ours, alternative] = await measureInTurn(
      [
        { name: 'alone', measure: seconds => readQuietly(limited, seconds) },
        ...noisy.map(({ side, clients }) => ({
          name: side.server.name,
          measure: (seconds: number) =>
            clients.during(() => readQuietly(side, seconds)),
        })),
      ],
      howLong,
    );
    const [oursOfNoise, alternativeOfNoise] = noisy.map(
      ({ side, clients: { rounds } }) => ({
        name: side.server.name,
        // Without the warm-up.
        rounds: rounds.slice(1),
      }),
    );
    const quiet = `quiet, beside ${what}`;
    return [
      compare({ what: quiet, ours, alternative: alone, target: TARGET }),
      compare({ what: quiet, ours, alternative }),
      compare({
        what: `noisy, ${what}`,
        ours: oursOfNoise,
        alternative: alternativeOfNoise,
      }),
    ];
  } finally {
    await Promise.all(noisy.map(({ clients }) => clients.stop()));
  }
}

/** A round in which all were refused has no median: it lasts until one is answered. */
async function readQuietly(
  { server, reads }: Side,
  seconds: number,
): Promise<Measurement> {
  const options = { connections: 1, allowRefusals: true };
  for (;;) {
    const round = await keepAskingFor(seconds, server.url, reads, options);
    if (round.count > 0) {
      return round;
    }
  }
}
