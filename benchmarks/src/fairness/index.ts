import { Random } from '@internal/postgres';
import { setTimeout as delay } from 'node:timers/promises';
import type {
  Benchmark,
  BenchmarkContext,
  BenchmarkResult,
} from '../harness/Benchmark';
import {
  compare,
  measureInTurn,
  type Measurement,
  ratiosOf,
  type Spread,
  spreadOf,
} from '../harness/comparison';
import { runStatements } from '../harness/database';
import { type EventLoopDelay, POOL_SIZE } from '../harness/servers';
import { createCatalog, createTenants, keepBusy } from '../load';
import {
  type LoadClient,
  LoadServer,
  RequestLog,
  REQUEST_LOG_HEAD,
} from '../load/LoadClient';
import { type LoadTenant, READS, type Task } from '../load/requests';
import { listWithFields, NOISE, type Noise } from './noise';
import { NoisyClients } from './NoisyClients';

/** How much there is to ask for. */
interface Size {
  /** Of the quiet tenant. */
  quiet: number;
  /** Of the noisy tenant. */
  noisy: number;
  /** Heavy requests of the noisy tenant that are under way at any time. */
  requests: number;
  /** How long a measurement is, in the unit of `--seconds`. */
  seconds: number;
}

const FULL: Size = { quiet: 100, noisy: 5_000, requests: 20, seconds: 3 };
const SHORT: Size = { quiet: 30, noisy: 200, requests: 20, seconds: 1 };

/** What the median of a quiet tenant may be beside a noisy one, against being alone. */
const TARGET = 2;

/** What an answer may hold the event loop for, in milliseconds. */
const EVENT_LOOP_TARGET_MS = 20;
const LISTED = 1_000;

/** A quiet tenant alone, and beside a noisy one with and without limits. */
export const fairnessBenchmark: Benchmark = {
  name: 'fairness',
  rounds: { full: 5, short: 1 },
  run,
};

interface Side {
  name: string;
  quiet: LoadClient[];
  noisy: NoisyClients;
}

/** What the quiet tenant felt in one round. */
type Round = Measurement & { p50: number; p95: number };

async function run(context: BenchmarkContext): Promise<BenchmarkResult> {
  const { progress, settings } = context;
  const size = settings.short ? SHORT : FULL;
  const database = await createCatalog(context);
  const limited = await LoadServer.start(context, database, {
    pool: POOL_SIZE,
  });
  const unlimited = await LoadServer.start(context, database, {
    pool: POOL_SIZE,
    // As many as there are connections: no tenant waits for its own.
    concurrency: POOL_SIZE,
  });
  try {
    progress(`creating a tenant with ${size.noisy} entities`);
    const {
      tenants: [quiet],
      noisy,
    } = await createTenants(limited, {
      tenants: 1,
      entities: size.quiet,
      noisy: { entities: size.noisy },
    });
    // What autovacuum does, at a moment of its own: see the docs on statistics that lack a tenant.
    await runStatements({ postgres: context.postgres, name: database }, [
      'vacuum (analyze)',
    ]);
    const results: Array<Awaited<ReturnType<typeof measureNoise>>> = [];
    for (const kind of Object.keys(NOISE) as Noise[]) {
      progress(`a quiet tenant beside ${size.requests} × ${kind}`);
      const { requests } = size;
      const sideOf = (server: LoadServer, side: string): Side => ({
        name: side,
        quiet: [createClient(server, quiet, READS)],
        noisy: NoisyClients.start(server, {
          tenant: noisy,
          noise: kind,
          requests,
        }),
      });
      const sides = {
        limited: sideOf(limited, 'with limits'),
        unlimited: sideOf(unlimited, 'without limits'),
      };
      try {
        results.push(
          await measureNoise(`${requests} × ${kind}`, {
            ...sides,
            rounds: settings.rounds,
            seconds: settings.seconds * size.seconds,
          }),
        );
      } finally {
        await Promise.all(Object.values(sides).map(side => side.noisy.stop()));
      }
    }
    progress(`the event loop under lists of ${LISTED} entities`);
    const eventLoop = await measureEventLoop(limited, noisy, settings.seconds);
    return {
      circumstances:
        `A quiet tenant with ${size.quiet} entities and one request at a time, beside ` +
        `${size.requests} heavy requests of one with ${size.noisy}; ${POOL_SIZE} connections`,
      comparisons: results.map(({ comparison }) => comparison),
      figures: [
        {
          title:
            'Milliseconds of a request of the quiet tenant: median over the rounds, and ' +
            'against being alone, with the smallest and the largest',
          head: ['beside', 'side', 'p50', 'ratio', 'p95', 'ratio'],
          rows: results.flatMap(({ rows }) => rows),
        },
        eventLoop.figure,
        {
          title: 'What the noisy tenant got, warm-up included',
          head: REQUEST_LOG_HEAD,
          rows: results.flatMap(({ noiseRows }) => noiseRows),
        },
      ],
      notes: [...results.map(({ note }) => note), eventLoop.note],
      failures: [...results, eventLoop].flatMap(({ failures }) => failures),
    };
  } finally {
    await Promise.all([limited.stop(), unlimited.stop()]);
  }
}

/** Alone, without limits and with them, in turn. */
async function measureNoise(
  what: string,
  options: { limited: Side; unlimited: Side; rounds: number; seconds: number },
) {
  const { limited, unlimited, ...howLong } = options;
  const failures: string[] = [];
  const measure = async (side: Side, seconds: number): Promise<Round> => {
    const log = await keepBusy(side.quiet, seconds);
    // A round in which all were refused has no median: it lasts until one is answered.
    while (log.measurement().count === 0 && log.failed === 0) {
      log.add(await keepBusy(side.quiet, seconds));
    }
    failures.push(...log.failures);
    return { ...log.measurement(), p95: log.percentile(95) };
  };
  const beside = (side: Side, seconds: number) =>
    side.noisy.during(() => measure(side, seconds));
  const [alone, without, withLimits] = (await measureInTurn(
    [
      { name: 'alone', measure: seconds => measure(limited, seconds) },
      {
        name: unlimited.name,
        measure: seconds => beside(unlimited, seconds),
      },
      { name: limited.name, measure: seconds => beside(limited, seconds) },
    ],
    howLong,
  )) as Round[][];

  const rowOf = (name: string, rounds: Round[]) => [
    what,
    name,
    ...(['p50', 'p95'] as const).flatMap(share => {
      const [ours, others] = [rounds, alone].map(side =>
        side.map(round => round[share]),
      );
      return [
        spreadOf(ours).median.toFixed(1),
        formatSpread(spreadOf(ratiosOf(ours, others))),
      ];
    }),
  ];
  const ratio = spreadOf(
    ratiosOf(
      withLimits.map(({ p50 }) => p50),
      alone.map(({ p50 }) => p50),
    ),
  );
  return {
    comparison: compare({
      what: `quiet, beside ${what}`,
      ours: { name: limited.name, rounds: withLimits },
      alternative: { name: unlimited.name, rounds: without },
    }),
    rows: [
      rowOf('alone', alone),
      rowOf(unlimited.name, without),
      rowOf(limited.name, withLimits),
    ],
    noiseRows: [unlimited, limited].map(side => {
      const [[name, ...row]] = side.noisy.report.rows;
      return [`${name}, ${side.name}`, ...row];
    }),
    note:
      `Beside ${what}: the median is ${formatSpread(
        ratio,
      )} that of being alone; ` +
      `${TARGET}× is the target, which it ${
        ratio.median <= TARGET ? 'meets' : 'misses'
      }`,
    failures: [
      ...failures,
      ...[unlimited, limited].flatMap(side => side.noisy.report.failures),
    ],
  };
}

/** For how long at a time nobody else gets anything, while nothing and while lists are asked for. */
async function measureEventLoop(
  server: LoadServer,
  tenant: LoadTenant,
  seconds: number,
) {
  const clients = [createClient(server, tenant, [listWithFields(LISTED)])];
  const warmUp = await keepBusy(clients, seconds);
  const idle = await server.watchEventLoop(() => delay(seconds * 1000));
  const log = new RequestLog();
  const busy = await server.watchEventLoop(async () => {
    log.add(await keepBusy(clients, seconds * 3));
  });
  const rowOf = (name: string, { p99, longest }: EventLoopDelay) => [
    name,
    ...[p99, longest].map(ms => ms.toFixed(1)),
  ];
  const name = `lists of ${LISTED} entities with fields, one after the other`;
  return {
    figure: {
      title: 'Milliseconds for which the event loop of the backend was held',
      head: ['while', 'p99', 'longest'],
      rows: [rowOf('nothing is asked for', idle), rowOf(name, busy)],
    },
    note:
      `The event loop was held for ${busy.longest.toFixed(1)} ms at most by ` +
      `${
        log.measurement().count
      } ${name}; ${EVENT_LOOP_TARGET_MS} ms is the target, ` +
      `which it ${busy.longest <= EVENT_LOOP_TARGET_MS ? 'meets' : 'misses'}`,
    failures: [...warmUp.failures, ...log.failures],
  };
}

function formatSpread({ median, min, max }: Spread): string {
  return `${median.toFixed(2)}× (${min.toFixed(2)}–${max.toFixed(2)})`;
}

function createClient(
  server: LoadServer,
  tenant: LoadTenant,
  tasks: Task[],
): LoadClient {
  const [client] = server.createClients([
    {
      caller: 'service',
      naming: 'header',
      tenant,
      tasks,
      random: new Random(0),
    },
  ]);
  return client;
}
