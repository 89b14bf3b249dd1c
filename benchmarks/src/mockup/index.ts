import type {
  Benchmark,
  BenchmarkContext,
  BenchmarkResult,
} from '../harness/Benchmark';
import { type Comparison, compare } from '../harness/comparison';
import type { LoadRequest } from '../harness/load';
import { measureInTurn } from '../harness/rounds';
import { startTogether } from '../harness/startTogether';
import { assertSameAnswers } from './check';
import { createDatabase, type Seeded, type Size } from './database';
import { MockupServer, SERVERS } from './MockupServer';
import { pick, readMockup, saveVersion } from './requests';
import { describeStatements } from './statements';

const FULL: Size = {
  mockups: 10_000,
  versionsPerMockup: 10,
  growth: [1, 10, 100, 1_000, 10_000],
};
const SHORT: Size = {
  mockups: 500,
  versionsPerMockup: 10,
  growth: [1, 10, 100, 1_000],
};

const THROUGHPUT_TARGET = 0.7;

// As good as none, given how much rounds differ by themselves.
const GROWTH_TARGET = 0.9;

/** Saving and reading mockups over HTTP, against a plain express + pg handler. */
export const mockupBenchmark: Benchmark = {
  name: 'mockup',
  run,
};

async function run(context: BenchmarkContext): Promise<BenchmarkResult> {
  const { postgres, progress, settings } = context;
  const size = settings.short ? SHORT : FULL;
  const template = 'mockups';

  progress(
    `${size.mockups} mockups with ${size.versionsPerMockup} versions each`,
  );
  const seeded = await createDatabase(postgres, template, size);

  progress(`starting ${Object.values(SERVERS).join('; ')}`);
  const servers = await startTogether(
    (['backend', 'routes', 'plain'] as const).map(kind =>
      MockupServer.start(kind, context, template),
    ),
  );
  try {
    return await measure(context, servers, seeded);
  } finally {
    await Promise.all(servers.map(server => server.stop()));
  }
}

async function measure(
  context: BenchmarkContext,
  servers: MockupServer[],
  { ids, growth }: Seeded,
): Promise<BenchmarkResult> {
  const read = () => readMockup(pick(ids));
  const save = () => saveVersion(pick(ids));

  await assertSameAnswers(servers, read());
  const notes = await describeStatements(context.postgres, servers, {
    read,
    save,
  });
  const { rounds, seconds, concurrency } = context.settings;
  return {
    circumstances: `${rounds} rounds of ${seconds} s, ${concurrency} requests at a time`,
    comparisons: [
      ...(await compareServers(context, 'read a mockup', servers, read)),
      ...(await compareServers(context, 'save a version', servers, save)),
      ...(await compareGrowth(context, servers[1], growth)),
    ],
    notes,
  };
}

/** Compares ours, with Backstage around it and without, with the plain handler. */
async function compareServers(
  { progress, settings }: BenchmarkContext,
  what: string,
  servers: MockupServer[],
  nextRequest: () => LoadRequest,
): Promise<Comparison[]> {
  progress(what);
  const contestants = servers.map(server => server.answering(nextRequest));
  const measured = await measureInTurn(contestants, settings);
  const [backend, routes, plain] = contestants.map(({ name }, index) => ({
    name,
    rounds: measured[index],
  }));
  return [
    { ours: routes, target: THROUGHPUT_TARGET },
    // Backstage's share of the work is not ours to make cheaper.
    { ours: backend },
  ].map(({ ours, target }) =>
    compare({ what, ours, alternative: plain, target }),
  );
}

/** Compares a mockup of many versions with one that has a single one. */
async function compareGrowth(
  { progress, settings }: BenchmarkContext,
  server: MockupServer,
  growth: Map<number, string>,
): Promise<Comparison[]> {
  const what = 'read the newest of many';
  progress(what);
  const contestants = Array.from(growth, ([versions, id]) =>
    server.answering(
      () => readMockup(id),
      `of ${versions.toLocaleString('en')} version${versions > 1 ? 's' : ''}`,
    ),
  );
  const measured = await measureInTurn(contestants, settings);
  const [single, ...others] = contestants.map(({ name }, index) => ({
    name,
    rounds: measured[index],
  }));
  return others.map(ours =>
    compare({ what, ours, alternative: single, target: GROWTH_TARGET }),
  );
}
