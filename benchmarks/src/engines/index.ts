import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
// What the module does for a new tenant, by itself: the package does not export it.
/* eslint-disable-next-line @backstage/no-relative-monorepo-imports */
import { EngineTables } from '../../../plugins/catalog-backend-module-tenant-engines/src/tables/EngineTables';
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
import { CpuRecorder, cpuSharesOf } from '../harness/cpuTime';
import { runStatements } from '../harness/database';
import { SCHEMA, startTogether } from '../harness/servers';
import type { Provision } from './backend';
import { enable, EnginesServer, secondsOf } from './EnginesServer';
import { measureMany } from './many';

interface Size {
  /** How many tenants are provisioned, and enabled, one after the other. */
  each: number;
  /** How many entities all tenants at work have together; the stock engine has as many. */
  entities: number;
  /** How many tenants are at work, in turn. Each time, they are other ones. */
  atWork: number[];
  /** For how long the engines are left alone. */
  idleSeconds: number;
}

const FULL: Size = {
  each: 20,
  entities: 500,
  atWork: [1, 10, 50],
  idleSeconds: 10,
};
const SHORT: Size = { each: 2, entities: 12, atWork: [1, 2], idleSeconds: 1 };

// What a suspended server has missed: timers that are over, connections to be closed.
const RESUMPTION_MS = 1000;

const ENDS = ['SIGHUP', 'SIGINT', 'SIGTERM'] as const;

/** Both servers, of which one at a time is at work. */
class Sides {
  #current?: EnginesServer;
  // A suspended server would not notice that this process ends, and stay.
  readonly #end = () => {
    this.resume();
    process.exit(1);
  };

  constructor(private readonly servers: EnginesServer[]) {
    ENDS.forEach(signal => process.once(signal, this.#end));
  }

  /** Both are at work from then on. */
  resume(): void {
    ENDS.forEach(signal => process.off(signal, this.#end));
    this.servers.forEach(server => server.resume());
  }

  /** Suspends the others: engines look for work all the time. */
  async only(server: EnginesServer): Promise<void> {
    if (server !== this.#current) {
      this.#current = server;
      this.servers
        .filter(other => other !== server)
        .forEach(other => other.suspend());
      server.resume();
      await delay(RESUMPTION_MS);
    }
  }
}

/** Entities that are split among the tenants at work, or are all the stock engine's. */
class Ingestion implements Contestant {
  readonly name: string;
  /** Entities per second, when all of them are new. */
  firstPerSecond = 0;
  connections = 0;
  #revision = 0;

  constructor(
    private readonly sides: Sides,
    readonly server: EnginesServer,
    private readonly tenants: Array<string | undefined>,
    private readonly entities: number,
    private readonly progress: (message: string) => void,
  ) {
    const [first] = tenants;
    this.name =
      first === undefined
        ? 'one stock engine'
        : `${tenants.length} tenant${tenants.length > 1 ? 's' : ''}`;
  }

  /** From the full mutation of each provider to the last entity that is served. */
  async measure(): Promise<Measurement> {
    const { entities, server, sides, tenants } = this;
    await sides.only(server);
    this.#revision += 1;
    const revision = this.#revision;
    const length = Math.floor(entities / tenants.length);
    const seconds = await secondsOf(async () => {
      await Promise.all(
        tenants.map((tenant, index) => {
          const body: Provision = { first: index * length, length, revision };
          return server.ask('POST', 'catalog/benchmark', { tenant, body });
        }),
      );
      // One after the other: to ask all of them all the time would be most of the work.
      for (const tenant of tenants) {
        await server.untilServed(length, revision, tenant);
      }
    });
    this.connections = Math.max(
      this.connections,
      // Nobody closes them at once.
      await server.connections(),
    );
    const count = length * tenants.length;
    const perSecond = count / seconds;
    this.firstPerSecond ||= perSecond;
    this.progress(`${this.name}: ${perSecond.toFixed(1)} entities/s`);
    return { count, perSecond };
  }
}

/** What an engine costs: to provision it, to start it, idle, and at work. */
export const enginesBenchmark: Benchmark = {
  name: 'engines',
  rounds: { full: 5, short: 1 },
  // Each engine is a schema, which takes 25 tables and indexes and more in one transaction.
  serverSettings: () => ({
    autovacuum: 'off',
    checkpoint_timeout: '1h',
    max_connections: '200',
    max_wal_size: '16GB',
    shared_buffers: '1GB',
  }),
  run,
};

async function run(context: BenchmarkContext): Promise<BenchmarkResult> {
  const { only } = context.settings;
  const work = only === 'many' ? undefined : await measureWork(context);
  const many = only === 'work' ? undefined : await measureMany(context);
  return {
    circumstances: [work, many]
      .flatMap(part => part?.circumstances ?? [])
      .join('; '),
    comparisons: work?.comparisons ?? [],
    figures: [work, many].flatMap(part => part?.figures ?? []),
    notes: [work, many].flatMap(part => part?.notes ?? []),
  };
}

async function measureWork(
  context: BenchmarkContext,
): Promise<BenchmarkResult> {
  const { postgres, progress, settings } = context;
  const size = settings.short ? SHORT : FULL;
  const count = size.atWork.reduce((sum, tenants) => sum + tenants, 0);
  progress('creating the catalogs, and starting the backends');
  const [stock, ours] = await startTogether([
    EnginesServer.start(context, 'engines_stock', { withEngines: false }),
    EnginesServer.start(context, 'engines_ours', { withEngines: true }),
  ]);
  const sides = new Sides([stock, ours]);
  try {
    await stock.untilServed(1, 0);
    await sides.only(ours);

    progress(`provisioning ${size.each} tenants`);
    const provisioned = await provisionEach(ours, size.each);
    const before = await ours.memory();
    progress(`enabling ${count} tenants`);
    const tenants = Array.from({ length: count }, (_, i) => `tenant-${i}`);
    const first = await enableEach(ours, tenants.slice(0, size.each));
    progress(`one after the other: ${first.map(s => s.toFixed(2))} s`);
    const rest = tenants.slice(size.each);
    const together = await secondsOf(() =>
      Promise.all(rest.map(slug => enable(ours, slug))),
    );
    const after = await ours.memory();
    progress(`${count} engines without work`);
    const idle = await cpuOfIdle(ours, postgres.pid, size.idleSeconds);

    const cpu = new CpuRecorder({ postgres: postgres.pid, of: 'an entity' });
    const works = [
      new Ingestion(sides, stock, [undefined], size.entities, progress),
      ...size.atWork.map(
        length =>
          new Ingestion(
            sides,
            ours,
            tenants.splice(0, length),
            size.entities,
            progress,
          ),
      ),
    ];
    progress(`${works.map(({ name }) => name).join(', ')} at work in turn`);
    const what = `change ${size.entities} entities`;
    const measured = await measureInTurn(
      works.map(work => cpu.recorded(what, work, work.server.pid)),
      settings,
    );
    const [alternative, ...engines] = works.map(({ name }, index) => ({
      name,
      rounds: measured[index],
    }));
    return {
      circumstances: `${settings.rounds} rounds of ${size.entities} entities; ${count} tenants have engines`,
      comparisons: engines.map(each =>
        compare({ what, unit: 'entities', ours: each, alternative }),
      ),
      figures: [
        timesTable([
          ['provision a tenant', provisioned],
          ['from enabling a tenant to its first entity', first],
        ]),
        ...cpu.figures,
        workTable(works),
        memoryTable(before, after, count),
      ],
      notes: [
        `The first entities of ${
          rest.length
        } tenants that are enabled at once: ${together.toFixed(1)} s`,
        `${count} engines without work: ${idle}`,
      ],
    };
  } finally {
    sides.resume();
    await Promise.all([stock.stop(), ours.stop()]);
  }
}

/** The tables of tenants without an engine, and without what starts one. */
async function provisionEach(
  { database: { postgres, name } }: EnginesServer,
  count: number,
): Promise<number[]> {
  const quiet = () => undefined;
  const logger = { debug: quiet, info: quiet, warn: quiet, error: quiet };
  const tables = EngineTables.create({
    connection: { connectionString: postgres.connectionString(name) },
    schema: SCHEMA,
    logger: { ...logger, child: () => ({ ...logger, child: () => never() }) },
  });
  // Once for all tenants.
  await tables.prepareTemplate();
  const seconds: number[] = [];
  for (let i = 0; i < count; i++) {
    const tenantId = randomUUID();
    await runStatements({ postgres, name }, [
      `insert into ${SCHEMA}.tenants (tenant_id, tenant_slug, tenant_name)
       values ('${tenantId}', 'provisioned-${i}', 'Provisioned ${i}')`,
    ]);
    seconds.push(await secondsOf(() => tables.provision(tenantId)));
  }
  return seconds;
}

function never(): never {
  throw new Error('No logger has a child here');
}

async function enableEach(
  server: EnginesServer,
  slugs: string[],
): Promise<number[]> {
  const seconds: number[] = [];
  for (const slug of slugs) {
    seconds.push(await enable(server, slug));
  }
  return seconds;
}

/** The share of a processor that engines take which have nothing to do. */
async function cpuOfIdle(
  { pid }: EnginesServer,
  postgres: number,
  seconds: number,
): Promise<string> {
  const shares = await cpuSharesOf([pid], postgres, () =>
    delay(seconds * 1000),
  );
  return shares
    ? `${shares.node.toFixed(1)} % of a processor in Node.js, ` +
        `${shares.postgres.toFixed(1)} % in PostgreSQL`
    : 'this system does not tell';
}

function timesTable(rows: Array<[string, number[]]>): FigureTable {
  const ms = (value: number) => (value * 1000).toFixed(0);
  return {
    title: 'Milliseconds that it takes, one after the other',
    head: ['what', 'count', 'median', 'shortest', 'longest'],
    rows: rows.map(([what, seconds]) => {
      const { median, min, max } = spreadOf(seconds);
      return [what, seconds.length, ms(median), ms(min), ms(max)];
    }),
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

function memoryTable(
  before: NodeJS.MemoryUsage,
  after: NodeJS.MemoryUsage,
  engines: number,
): FigureTable {
  const row = (what: string, key: 'rss' | 'heapUsed') =>
    [what, before[key], after[key], (after[key] - before[key]) / engines].map(
      cell => (typeof cell === 'number' ? (cell / 2 ** 20).toFixed(2) : cell),
    );
  return {
    title: 'Memory of the backend in MiB, after a garbage collection',
    head: ['what', 'without engines', `with ${engines}`, 'for each'],
    rows: [row('RSS', 'rss'), row('heap', 'heapUsed')],
  };
}
