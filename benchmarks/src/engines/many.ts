import { setTimeout as delay } from 'node:timers/promises';
import type {
  BenchmarkContext,
  BenchmarkResult,
  FigureTable,
} from '../harness/Benchmark';
import { spreadOf } from '../harness/comparison';
import { cpuSharesOf } from '../harness/cpuTime';
import { withClient } from '../harness/database';
import { privateMemoryOf } from '../harness/memory';
import { startTogether } from '../harness/servers';
import type { Provision } from './backend';
import { enable, EnginesServer, secondsOf, until } from './EnginesServer';

interface Size {
  /** How many tenants have engines, in turn. */
  tenants: number[];
  /** Beside how many idle tenants others are at work. */
  beside: number;
  /** How many tenants are at work, and how many entities each of them changes at a time. */
  busy: number;
  busyEntities: number;
  /** How many backends of the stock catalog run, each with a database. */
  stock: number;
  /** For how long the engines are left alone, before and while they are measured. */
  settleSeconds: number;
  idleSeconds: number;
  busySeconds: number;
  /** How many changes are followed to their answers. */
  changes: number;
}

const FULL: Size = {
  tenants: [1, 50, 200, 500],
  beside: 200,
  busy: 10,
  busyEntities: 20,
  stock: 10,
  settleSeconds: 120,
  idleSeconds: 30,
  busySeconds: 30,
  changes: 10,
};
const SHORT: Size = {
  tenants: [1, 4],
  beside: 4,
  busy: 2,
  busyEntities: 2,
  stock: 1,
  settleSeconds: 1,
  idleSeconds: 1,
  busySeconds: 1,
  changes: 2,
};

/** How many tenants are created at a time. */
const TOGETHER = 8;
/** How often the answer to a change is looked for. */
const LOOK_MS = 10;

/** What backends cost while nothing changes, together. */
interface Idle {
  name: string;
  /** In per cent of a processor. */
  node: number;
  postgres: number;
  connections: number;
  /** In MiB. */
  heap: number;
  rss: number;
  sessions: number;
}

/** Seconds from a change in a tenant's source to its answer. */
interface Lag {
  name: string;
  seconds: number[];
}

/** Changes of the one entity of a tenant. */
class Changes {
  static #revision = 1_000;

  constructor(
    private readonly server: EnginesServer,
    private readonly tenant?: string,
  ) {}

  /** @returns the seconds until it is served */
  change(length = 1): Promise<number> {
    Changes.#revision += 1;
    const revision = Changes.#revision;
    const body: Provision = { first: 0, length, revision };
    return secondsOf(async () => {
      const { server, tenant } = this;
      await server.ask('POST', 'catalog/benchmark', { tenant, body });
      await server.untilServed(length, revision, tenant, LOOK_MS);
    });
  }
}

/** Hundreds of engines in one backend, idle and beside a few at work. */
export async function measureMany(
  context: BenchmarkContext,
): Promise<Pick<BenchmarkResult, 'circumstances' | 'figures' | 'notes'>> {
  const { progress, settings } = context;
  const size = settings.short ? SHORT : FULL;
  const idles: Idle[] = [];
  const lags: Lag[] = [];
  const starts: Array<Array<string | number>> = [];
  const notes: string[] = [];

  progress(`${size.stock} backends of the stock catalog, each with a database`);
  const stock = await startTogether(
    Array.from({ length: size.stock }, (_, i) =>
      EnginesServer.start(context, `stock_${i}`, { withEngines: false }),
    ),
  );
  try {
    await Promise.all(stock.map(server => server.untilServed(1, 0)));
    const name = `${size.stock} stock backends`;
    idles.push(await idleOf(context, name, stock, size));
    const follow = new Changes(stock[0]);
    lags.push({
      name: 'a stock backend',
      seconds: await repeat(size.changes, () => follow.change()),
    });
  } finally {
    await Promise.all(stock.map(server => server.stop()));
  }

  const ours = await EnginesServer.start(context, 'engines_many', {
    withEngines: true,
  });
  try {
    const tenants: string[] = [];
    for (const count of size.tenants) {
      progress(`enabling ${count} tenants`);
      while (tenants.length < count) {
        const next = Array.from(
          { length: Math.min(TOGETHER, count - tenants.length) },
          (_, i) => `tenant-${tenants.length + i}`,
        );
        await Promise.all(next.map(slug => enable(ours, slug)));
        tenants.push(...next);
      }
      progress(`starting the backend with ${count} engines`);
      const answers = await ours.restart();
      const all =
        answers + (await secondsOf(() => untilRunning(ours, tenants)));
      starts.push([count, answers.toFixed(1), all.toFixed(1)]);

      const name = `${count} tenant${count > 1 ? 's' : ''}`;
      progress(`${name} without work`);
      idles.push(await idleOf(context, name, [ours], size));
      progress(`${name}: changes`);
      const quiet = cycle(tenants.slice(-Math.max(1, count - size.busy)));
      lags.push({
        name,
        seconds: await repeat(size.changes, () =>
          new Changes(ours, quiet()).change(),
        ),
      });

      if (count === size.beside) {
        progress(`${size.busy} tenants at work beside ${count - size.busy}`);
        const busy = tenants.slice(0, size.busy);
        const seconds: number[] = [];
        const work = workOf(ours, busy, size);
        try {
          await delay(size.busySeconds * 1000);
          for (let i = 0; i < size.changes; i++) {
            seconds.push(await new Changes(ours, quiet()).change());
          }
        } finally {
          notes.push(
            `${size.busy} tenants at work beside ${count - size.busy}: ${(
              await work.stop()
            ).toFixed(1)} entities/s`,
          );
        }
        lags.push({ name: `${name}, ${size.busy} of them at work`, seconds });
      }
    }
  } finally {
    await ours.stop();
  }
  return {
    circumstances: `engines without work were left alone for ${size.settleSeconds} s, and then measured for ${size.idleSeconds} s`,
    figures: [
      idleTable(idles, size),
      lagTable(lags),
      {
        title: 'Seconds from the start of the process',
        head: ['engines', 'until it answers', 'until all engines run'],
        rows: starts,
      },
    ],
    notes,
  };
}

/** Tenants that change all of their entities, again and again. */
function workOf(server: EnginesServer, tenants: string[], size: Size) {
  let isOver = false;
  let changed = 0;
  const start = performance.now();
  const works = tenants.map(async tenant => {
    const changes = new Changes(server, tenant);
    while (!isOver) {
      await changes.change(size.busyEntities);
      changed += size.busyEntities;
    }
  });
  return {
    /** @returns how many entities were changed in a second */
    async stop(): Promise<number> {
      isOver = true;
      await Promise.all(works);
      return changed / ((performance.now() - start) / 1000);
    },
  };
}

async function repeat(
  count: number,
  action: () => Promise<number>,
): Promise<number[]> {
  const results: number[] = [];
  for (let i = 0; i < count; i++) {
    results.push(await action());
  }
  return results;
}

/** One after the other, and from the beginning again. */
function cycle<T>(values: T[]): () => T {
  let next = 0;
  return () => {
    next += 1;
    return values[(next - 1) % values.length];
  };
}

async function untilRunning(
  server: EnginesServer,
  tenants: string[],
): Promise<void> {
  for (const tenant of tenants) {
    await until(`the engine of ${tenant}`, async () => {
      const answer = await server.ask('GET', `tenants/${tenant}/engine`);
      return JSON.parse(answer).state === 'running';
    });
  }
}

async function idleOf(
  { postgres, progress }: BenchmarkContext,
  name: string,
  servers: EnginesServer[],
  { settleSeconds, idleSeconds }: Size,
): Promise<Idle> {
  await delay(settleSeconds * 1000);
  const shares = await cpuSharesOf(
    servers.map(({ pid }) => pid),
    postgres.pid,
    () => delay(idleSeconds * 1000),
  );
  const sessions = await Promise.all(
    servers.map(({ database }) =>
      withClient({ postgres, name: 'postgres' }, async client => {
        const { rows } = await client.query<{ pid: number }>(
          'select pid from pg_stat_activity where datname = $1',
          [database.name],
        );
        return rows.map(({ pid }) => pid);
      }),
    ),
  );
  const memory = await Promise.all(servers.map(server => server.memory()));
  const sum = (values: number[]) => values.reduce((a, b) => a + b, 0);
  const idle: Idle = {
    name,
    node: shares?.node ?? NaN,
    postgres: shares?.postgres ?? NaN,
    connections: sessions.flat().length,
    heap: sum(memory.map(({ heapUsed }) => heapUsed)) / 2 ** 20,
    rss: sum(memory.map(({ rss }) => rss)) / 2 ** 20,
    sessions:
      sum(sessions.flat().map(pid => privateMemoryOf(pid) ?? 0)) / 2 ** 10,
  };
  progress(
    `${name}: ${idle.node.toFixed(1)} % Node.js, ${idle.postgres.toFixed(
      1,
    )} % PostgreSQL`,
  );
  return idle;
}

function idleTable(idles: Idle[], size: Size): FigureTable {
  const largest = Math.max(...size.tenants);
  const factor = largest / size.stock;
  const [stock] = idles;
  const rowOf = (idle: Idle): Array<string | number> => [
    idle.name,
    idle.node.toFixed(1),
    idle.postgres.toFixed(1),
    idle.connections.toFixed(0),
    idle.heap.toFixed(0),
    idle.rss.toFixed(0),
    idle.sessions.toFixed(0),
  ];
  return {
    title: `Without work: per cent of a processor; memory in MiB. The row of ${largest} stock backends is ${factor} times that of ${size.stock}`,
    head: [
      'what',
      'Node.js %',
      'PostgreSQL %',
      'connections',
      'heap',
      'RSS',
      'sessions of PostgreSQL',
    ],
    rows: [
      rowOf(stock),
      rowOf({
        name: `${largest} stock backends (arithmetic)`,
        node: stock.node * factor,
        postgres: stock.postgres * factor,
        connections: stock.connections * factor,
        heap: stock.heap * factor,
        rss: stock.rss * factor,
        sessions: stock.sessions * factor,
      }),
      ...idles.slice(1).map(rowOf),
    ],
  };
}

function lagTable(lags: Lag[]): FigureTable {
  return {
    title: 'Seconds from a change in a source to its answer',
    head: ['what', 'changes', 'median', 'shortest', 'longest'],
    rows: lags.map(({ name, seconds }) => {
      const { median, min, max } = spreadOf(seconds);
      return [
        name,
        seconds.length,
        ...[median, min, max].map(value => value.toFixed(2)),
      ];
    }),
  };
}
