import type {
  Benchmark,
  BenchmarkContext,
  BenchmarkResult,
  FigureTable,
} from '../harness/Benchmark';
import {
  compare,
  type Contestant,
  type Measurement,
  measureInTurn,
  spreadOf,
} from '../harness/comparison';
import { QUIET_SETTINGS } from '../harness/database';
import { startTogether } from '../harness/servers';
import { EnginesServer, secondsOf } from './EnginesServer';

interface Size {
  /** How many tenants are created one after the other; the rest are created at once. */
  each: number;
  /** How many entities all tenants at work have together; the stock engine has as many. */
  entities: number;
  /** How many tenants are at work, in turn. Each time, they are other ones. */
  atWork: number[];
}

const FULL: Size = { each: 20, entities: 500, atWork: [1, 10, 50] };
const SHORT: Size = { each: 2, entities: 12, atWork: [1, 2] };

/** The engines of several tenants, beside one stock engine on the same entities. */
export const enginesBenchmark: Benchmark = {
  name: 'engines',
  rounds: { full: 5, short: 1 },
  serverSettings: () => ({ ...QUIET_SETTINGS, max_connections: '200' }),
  run,
};

/** Entities that are split among the tenants at work, or are all the stock engine's. */
class Ingestion implements Contestant {
  readonly name: string;
  /** Entities per second, when all of them are new. */
  firstPerSecond = 0;
  /** Connections at most. */
  connections = 0;
  #revision = 0;

  constructor(
    private readonly server: EnginesServer,
    private readonly tenants: Array<string | undefined>,
    private readonly length: number,
  ) {
    const count = tenants.length;
    this.name = tenants[0]
      ? `${count} tenant${count > 1 ? 's' : ''}`
      : 'one stock engine';
  }

  /** From the full mutation of each provider to the last entity that is served. */
  async measure(): Promise<Measurement> {
    const { length, server, tenants } = this;
    this.#revision += 1;
    const revision = this.#revision;
    const seconds = await secondsOf(async () => {
      await Promise.all(
        tenants.map((tenant, index) =>
          server.provide({ first: index * length, length, revision }, tenant),
        ),
      );
      // One after the other: to ask all of them all the time would be most of the work.
      for (const tenant of tenants) {
        await server.untilServed({ length, revision }, tenant);
      }
    });
    this.connections = Math.max(
      this.connections,
      await server.countConnections(),
    );
    const count = length * tenants.length;
    const perSecond = count / seconds;
    this.firstPerSecond ||= perSecond;
    return { count, perSecond };
  }
}

async function run(context: BenchmarkContext): Promise<BenchmarkResult> {
  const { progress, settings } = context;
  const size = settings.short ? SHORT : FULL;
  progress('creating the catalogs, and starting the backends');
  const servers = await startTogether([
    EnginesServer.start(context, 'engines_stock', { withEngines: false }),
    EnginesServer.start(context, 'engines_ours', { withEngines: true }),
  ]);
  const [stock, ours] = servers;
  try {
    await stock.untilServed({ length: 1, revision: 0 });
    const { tenants, figures, notes } = await createTenants(
      context,
      ours,
      size,
    );
    let used = 0;
    const lengthFor = (count: number) => Math.floor(size.entities / count);
    const works = [
      new Ingestion(stock, [undefined], size.entities),
      ...size.atWork.map(count => {
        const own = tenants.slice(used, used + count);
        used += count;
        return new Ingestion(ours, own, lengthFor(count));
      }),
    ];
    progress(`${works.map(({ name }) => name).join(', ')} at work in turn`);
    const what = `change ${size.entities} entities`;
    const [alternative, ...engines] = await measureInTurn(works, settings);
    return {
      circumstances: `${settings.rounds} rounds of ${size.entities} entities; ${tenants.length} tenants have engines`,
      comparisons: engines.map(each =>
        compare({ what, unit: 'entities', ours: each, alternative }),
      ),
      figures: [...figures, workTable(works)],
      notes,
    };
  } finally {
    await Promise.all(servers.map(server => server.stop()));
  }
}

/** Creates all tenants, and measures what that takes and what their engines cost idle. */
async function createTenants(
  { progress }: BenchmarkContext,
  server: EnginesServer,
  { atWork, each }: Size,
) {
  const count = atWork.reduce((sum, tenants) => sum + tenants, 0);
  progress(`creating ${count} tenants`);
  const tenants = Array.from({ length: count }, (_, i) => `tenant-${i}`);
  const before = await server.heapMiB();
  const seconds: number[] = [];
  for (const tenant of tenants.slice(0, each)) {
    seconds.push(await server.addTenant(tenant));
  }
  const rest = tenants.slice(each);
  const together = await secondsOf(() =>
    Promise.all(rest.map(tenant => server.addTenant(tenant))),
  );
  const heap = ((await server.heapMiB()) - before) / count;
  return {
    tenants,
    figures: [timesTable(seconds)],
    notes: [
      `The first entities of ${
        rest.length
      } tenants created at once: ${together.toFixed(1)} s`,
      `Heap of the backend: ${heap.toFixed(
        2,
      )} MiB for each engine, after a garbage collection`,
    ],
  };
}

function timesTable(seconds: number[]): FigureTable {
  const { median, min, max } = spreadOf(seconds);
  const ms = [median, min, max].map(value => (value * 1000).toFixed(0));
  return {
    title: 'Milliseconds that it takes, one after the other',
    head: ['what', 'count', 'median', 'shortest', 'longest'],
    rows: [
      ['from creating a tenant to its first entity', seconds.length, ...ms],
    ],
  };
}

function workTable(works: Ingestion[]): FigureTable {
  return {
    title: 'The first time, when all entities are new; connections at most',
    head: ['side', 'entities/s', 'connections'],
    rows: works.map(({ name, firstPerSecond, connections }) => [
      name,
      firstPerSecond.toFixed(1),
      connections,
    ]),
  };
}
