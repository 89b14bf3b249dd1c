import { Random } from '@internal/postgres';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type {
  Benchmark,
  BenchmarkContext,
  BenchmarkResult,
  FigureTable,
  Settings,
} from '../harness/Benchmark';
import { adoptCatalog, createStockTables } from '../harness/catalogs';
import {
  compare,
  type Comparison,
  type Contestant,
  measureInTurn,
} from '../harness/comparison';
import { runStatements, withKnex } from '../harness/database';
import { givePartition } from '../harness/engine';
import { operate } from '../harness/migrations';
import {
  LoadClient,
  LoadServer,
  type NewClient,
  RequestLog,
  REQUEST_LOG_HEAD,
} from './LoadClient';
import {
  creation,
  filling,
  LoadTenant,
  MUTATION,
  NOISE,
  READS,
  whatChanges,
} from './requests';

/** How much load there is, and for how long. */
export interface Size {
  tenants: number;
  /** That never change, in the first tenant; each further one has one more. */
  entities: number;
  clients: number;
  /** In the unit of `--seconds`. */
  warmUp: number;
  load: number;
  noisy: {
    /** How many entities the noisy tenant has. */
    entities: number;
    /** How many clients it has. */
    clients: number;
    /** How many other tenants there are, with one client each. */
    quiet: number;
    /** How long a round is, in the unit of `--seconds`. */
    seconds: number;
  };
}

export const FULL: Size = {
  tenants: 100,
  entities: 100,
  clients: 200,
  warmUp: 10,
  load: 60,
  noisy: { entities: 10_000, clients: 40, quiet: 10, seconds: 4 },
};

export const SHORT: Size = {
  tenants: 4,
  entities: 30,
  clients: 8,
  warmUp: 2,
  load: 5,
  noisy: { entities: 200, clients: 6, quiet: 3, seconds: 1 },
};

/** Many clients of many tenants at once, each answer looked at; and a noisy tenant. */
export const loadBenchmark: Benchmark = {
  name: 'load',
  rounds: { full: 5, short: 1 },
  // A server as one has it in production: a commit waits for the disk, and vacuum runs
  // beside the load.
  serverSettings: ({ short }) => ({
    // The backend has 100 of them for tenants, and a few for its plugins.
    max_connections: '200',
    ...(short
      ? {}
      : {
          shared_buffers: '1GB',
          max_wal_size: '8GB',
          fsync: 'on',
          synchronous_commit: 'on',
          full_page_writes: 'on',
        }),
  }),
  run,
};

interface SteadyLoad {
  log: RequestLog;
  lastChanges: RequestLog;
  latenessMs: number;
}

async function run(context: BenchmarkContext): Promise<BenchmarkResult> {
  const { progress, settings } = context;
  const size = settings.short ? SHORT : FULL;
  const database = await createCatalog(context);
  const server = await LoadServer.start(context, database);
  try {
    progress(`creating ${size.tenants} tenants`);
    const { tenants, noisy } = await createTenants(server, size);
    await givePartitions(context, database, tenants);

    progress(`${size.clients} clients of ${size.tenants} tenants`);
    const load = await measureLoad(server, tenants, size, settings.seconds);
    progress('a noisy tenant beside quiet ones');
    const noise = await compareWithNoise({
      server,
      quiet: tenants.slice(0, size.noisy.quiet),
      noisy,
      size: size.noisy,
      settings,
    });
    return report(size, load, noise);
  } finally {
    await server.stop();
  }
}

async function measureLoad(
  server: LoadServer,
  tenants: LoadTenant[],
  size: Size,
  seconds: number,
): Promise<SteadyLoad> {
  const clients = createLoad(server, tenants, size.clients);
  // A user and a service first: with its first request, a plugin fetches the keys by
  // which tokens are verified. All at once would wait for that.
  const warmUp = await keepBusy(clients.slice(0, 2), seconds);
  warmUp.add(await keepBusy(clients, seconds * size.warmUp));

  const lateness = monitorEventLoopDelay({ resolution: 1 });
  lateness.enable();
  const log = await keepBusy(clients, seconds * size.load);
  lateness.disable();

  log.failures.unshift(
    ...warmUp.failures.map(failure => `warm-up, ${failure}`),
  );
  return {
    log,
    lastChanges: await checkLastChanges(clients, tenants),
    latenessMs: lateness.max / 1e6,
  };
}

function report(
  size: Size,
  { log, lastChanges, latenessMs }: SteadyLoad,
  noise: Awaited<ReturnType<typeof compareWithNoise>>,
): BenchmarkResult {
  const { count } = lastChanges.measurement();
  return {
    circumstances:
      `${size.clients} clients of ${size.tenants} tenants for ` +
      `${log.seconds.toFixed(0)} s, each with ${size.entities} to ` +
      `${size.entities + size.tenants - 1} entities; ` +
      `a noisy one with ${size.noisy.entities}`,
    comparisons: [noise.comparison],
    figures: [tableOf(`${size.clients} clients`, log), ...noise.figures],
    notes: [
      `Last changes: ${count} of ${size.tenants} tenants show theirs, and all of it`,
      `This process itself was late by at most ${latenessMs.toFixed(0)} ms: ` +
        'a request can seem to take that much longer than it did',
    ],
    failures: [
      ...log.failures,
      ...lastChanges.failures,
      ...(log.refused > 0
        ? [`${log.refused} requests were refused with 429 or 503`]
        : []),
      ...noise.failures,
    ],
  };
}

const ALONE = 'alone';
const BESIDE = 'beside a noisy one';

/** What the quiet tenants felt. */
interface NoisyResult {
  comparison: Comparison;
  figures: FigureTable[];
  /** What was wrong with the answers; that there was too much to do is not. */
  failures: string[];
}

/**
 * Tenants that read with one client each: alone, and beside one that asks for the
 * heaviest with many.
 */
async function compareWithNoise(options: {
  server: LoadServer;
  quiet: LoadTenant[];
  noisy: LoadTenant;
  size: Size['noisy'];
  settings: Settings;
}): Promise<NoisyResult> {
  const { server, quiet, noisy, size, settings } = options;
  const quietOnes = server.createClients(
    quiet.map((tenant, index) => clientOf(tenant, index, READS)),
  );
  const noisyOnes = server.createClients(
    Array.from({ length: size.clients }, (_, index) =>
      clientOf(noisy, index, NOISE),
    ),
  );

  const noise = new RequestLog();
  const beside = createContestant(BESIDE, seconds =>
    besideNoise(noisyOnes, noise, () => keepBusy(quietOnes, seconds)),
  );
  const alone = createContestant(ALONE, seconds =>
    keepBusy(quietOnes, seconds),
  );
  const [besideRounds, aloneRounds] = await measureInTurn([beside, alone], {
    rounds: settings.rounds,
    seconds: settings.seconds * size.seconds,
  });

  return {
    comparison: compare({
      what: `reads of ${quiet.length} quiet tenants`,
      ours: {
        name: `${BESIDE}, ${size.clients} clients`,
        rounds: besideRounds,
      },
      alternative: { name: ALONE, rounds: aloneRounds },
    }),
    figures: [
      tableOf(`Quiet tenants, ${ALONE}`, alone.log),
      tableOf(`Quiet tenants, ${BESIDE}`, beside.log),
      tableOf(`The noisy one, warm-up included`, noise),
    ],
    failures: [beside.log, alone.log, noise].flatMap(
      ({ failures }) => failures,
    ),
  };
}

function clientOf(
  tenant: LoadTenant,
  index: number,
  tasks: NewClient['tasks'],
): NewClient {
  return {
    caller: index % 2 === 0 ? 'user' : 'service',
    naming: 'header',
    tenant,
    tasks,
    random: new Random(index),
  };
}

/** Something to measure that keeps a log of all rounds, but not of the warm-up. */
function createContestant(
  name: string,
  keepAll: (seconds: number) => Promise<RequestLog>,
): Contestant & { log: RequestLog } {
  const log = new RequestLog();
  let warm = false;
  return {
    name,
    log,
    async measure(seconds) {
      const round = await keepAll(seconds);
      if (warm) {
        log.add(round);
      }
      warm = true;
      return round.measurement();
    },
  };
}

/** Lets the noise begin, and end once something is done. */
async function besideNoise<T>(
  clients: LoadClient[],
  log: RequestLog,
  action: () => Promise<T>,
): Promise<T> {
  let over = false;
  const noise = keepAsking(clients, () => over);
  try {
    return await action();
  } finally {
    over = true;
    log.add(await noise);
  }
}

/**
 * The clients of some tenants, as many for each. One of each tenant changes it, half
 * of them are users, of whom some sign new tenants up, and half name their tenant by the
 * hostname.
 */
function createLoad(
  server: LoadServer,
  tenants: LoadTenant[],
  clients: number,
): LoadClient[] {
  return server.createClients(
    Array.from({ length: clients }, (_, index): NewClient => {
      const caller = index % 2 === 0 ? 'user' : 'service';
      return {
        caller,
        naming: index % 4 < 2 ? 'hostname' : 'header',
        tenant: tenants[index % tenants.length],
        tasks: [...READS, ...(index < tenants.length ? [MUTATION] : [])],
        random: new Random(index),
      };
    }),
  );
}

/** Has clients ask for some seconds. */
export async function keepBusy(
  clients: LoadClient[],
  seconds: number,
): Promise<RequestLog> {
  const end = performance.now() + seconds * 1000;
  return keepAsking(clients, () => performance.now() >= end);
}

/** Has clients ask until it is over. */
export async function keepAsking(
  clients: LoadClient[],
  isOver: () => boolean,
): Promise<RequestLog> {
  const log = new RequestLog();
  await Promise.all(clients.map(client => client.keepAsking(log, isOver)));
  log.close();
  return log;
}

/** Makes sure that no change was lost: each tenant shows its last one, and all of it. */
async function checkLastChanges(
  clients: LoadClient[],
  tenants: LoadTenant[],
): Promise<RequestLog> {
  const log = new RequestLog();
  for (const [index, tenant] of tenants.entries()) {
    await clients[index].ask(whatChanges(tenant), log);
  }
  return log;
}

/** What is told of a log. */
function tableOf(title: string, log: RequestLog): FigureTable {
  return { title, head: REQUEST_LOG_HEAD, rows: log.rows() };
}

const BATCH = 500;
/** How many tenants are created at a time. */
const AT_ONCE = 4;
/** Of so many tenants, one has partitions of its own. */
const PARTITIONED = 4;

/** Creates an empty catalog that has tenants, and returns its name. */
export async function createCatalog({
  postgres,
}: BenchmarkContext): Promise<string> {
  const name = 'load';
  await runStatements({ postgres, name: 'postgres' }, [
    `create database ${name}`,
  ]);
  await withKnex(postgres, name, createStockTables);
  await adoptCatalog({ postgres, name });
  return name;
}

/** Creates tenants and what they have, as their clients would. */
export async function createTenants(
  server: LoadServer,
  {
    tenants,
    entities,
    noisy,
  }: Pick<Size, 'tenants' | 'entities'> & {
    noisy: Pick<Size['noisy'], 'entities'>;
  },
): Promise<{ tenants: LoadTenant[]; noisy: LoadTenant }> {
  const created = [
    ...Array.from(
      { length: tenants },
      (_, index) => new LoadTenant(`tenant-${index}`, entities + index),
    ),
    new LoadTenant('noisy', noisy.entities),
  ];
  // The largest one first, for it takes longest.
  const waiting = [...created];
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let next = waiting.pop(); next; next = waiting.pop()) {
        await createTenant(server, next);
      }
    }),
  );
  return { tenants: created.slice(0, -1), noisy: created.at(-1)! };
}

/** Gives some of the tenants partitions of their own, as an operator does. */
export async function givePartitions(
  { postgres }: BenchmarkContext,
  name: string,
  tenants: LoadTenant[],
): Promise<void> {
  for (const { slug } of tenants.filter((_, at) => at % PARTITIONED === 0)) {
    await operate({ postgres, name }, ({ context }) =>
      givePartition(context, slug),
    );
  }
}

async function createTenant(
  server: LoadServer,
  tenant: LoadTenant,
): Promise<void> {
  const log = new RequestLog();
  const [client] = server.createClients([
    {
      caller: 'user',
      naming: 'header',
      tenant,
      tasks: [],
      random: new Random(0),
    },
  ]);
  await client.ask(creation(tenant), log);
  const entities = tenant.initialEntities();
  for (let first = 0; first < entities.length; first += BATCH) {
    await client.ask(
      filling(tenant, entities.slice(first, first + BATCH)),
      log,
    );
  }
  if (log.failed + log.refused > 0) {
    throw new Error(
      `${tenant.slug} could not be created: ${log.failures.join('; ')}`,
    );
  }
}
