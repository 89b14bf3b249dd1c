import { monitorEventLoopDelay } from 'node:perf_hooks';
import type {
  Benchmark,
  BenchmarkContext,
  BenchmarkResult,
} from '../harness/Benchmark';
import { createCatalog, createTenants, givePartitions } from './catalog';
import type { Diary } from './clients/Diary';
import { checkLastChanges, createLoad, keepBusy, tableOf } from './load';
import { LoadServer } from './LoadServer';
import type { LoadTenant } from './LoadTenant';
import { memoryTable } from './memory';
import { compareWithNoise } from './noisy';
import type { Memory } from './servers/settings';
import { FULL, SHORT, type Size } from './sizes';

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
  diary: Diary;
  lastChanges: Diary;
  memory: Array<{ when: string; memory: Memory }>;
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
  const memory = [{ when: 'at the start', memory: await server.memory() }];
  // A user and a service first: with its first request, a plugin fetches the keys by
  // which tokens are verified. All at once would wait for that.
  const warmUp = await keepBusy(clients.slice(0, 2), seconds);
  warmUp.add(await keepBusy(clients, seconds * size.warmUp));
  memory.push({ when: 'after the warm-up', memory: await server.memory() });

  const lateness = monitorEventLoopDelay({ resolution: 1 });
  lateness.enable();
  const diary = await keepBusy(clients, seconds * size.load);
  lateness.disable();
  memory.push({ when: 'at the end', memory: await server.memory() });

  diary.failures.unshift(
    ...warmUp.failures.map(failure => `warm-up, ${failure}`),
  );
  return {
    diary,
    lastChanges: await checkLastChanges(clients, tenants),
    memory,
    latenessMs: lateness.max / 1e6,
  };
}

function report(
  size: Size,
  { diary, lastChanges, memory, latenessMs }: SteadyLoad,
  noise: Awaited<ReturnType<typeof compareWithNoise>>,
): BenchmarkResult {
  const { count } = lastChanges.measurement();
  return {
    circumstances:
      `${size.clients} clients of ${size.tenants} tenants for ` +
      `${diary.seconds.toFixed(0)} s, each with ${size.entities} to ` +
      `${size.entities + size.tenants - 1} entities; ` +
      `a noisy one with ${size.noisy.entities}`,
    comparisons: [noise.comparison],
    figures: [
      tableOf(`${size.clients} clients`, diary),
      memoryTable(memory),
      ...noise.figures,
    ],
    notes: [
      `Last changes: ${count} of ${size.tenants} tenants show theirs, and all of it`,
      `This process itself was late by at most ${latenessMs.toFixed(0)} ms: ` +
        'a request can seem to take that much longer than it did',
    ],
    failures: [
      ...diary.failures,
      ...lastChanges.failures,
      ...(diary.refused > 0
        ? [`${diary.refused} requests were refused with 503`]
        : []),
      ...noise.failures,
    ],
  };
}
