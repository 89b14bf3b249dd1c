import { setTimeout as delay } from 'node:timers/promises';
import type { Provision } from '../engines/backend';
import { addTenant, send, startServer, untilServed } from '../engines/servers';
import { SERVICE_TOKEN } from '../harness/backend';
import type {
  Benchmark,
  BenchmarkContext,
  BenchmarkResult,
  FigureTable,
} from '../harness/Benchmark';
import { type Database, QUIET_SETTINGS, withClient } from '../harness/database';
import { keepAsking } from '../harness/load';
import type { ServerProcess } from '../harness/servers';

interface Size {
  entities: number;
  tenants: number;
}

const FULL: Size[] = [20, 200].map(tenants => ({ entities: 500, tenants }));
const SHORT: Size[] = [{ entities: 5, tenants: 2 }];

const SOURCE = 'source';
/** Has nothing to do with shares, and asks all the time. */
const BUSY = 'busy';
/** Engines that start at a time. */
const STARTS = 10;

const STATEMENTS = `select active_time / 1000 as seconds from pg_stat_database
                     where datname = current_database()`;

const HEAD = [
  '',
  'seconds',
  "Node.js's CPU, s",
  'statements in PostgreSQL, s',
  'busy tenant, p50/p99 ms',
  'refused',
];

/** What it takes until all tenants have what one of them shares. */
export const sharesBenchmark: Benchmark = {
  name: 'shares',
  rounds: { full: 1, short: 1 },
  serverSettings: () => ({ ...QUIET_SETTINGS, max_connections: '200' }),
  run,
};

async function run(context: BenchmarkContext): Promise<BenchmarkResult> {
  const { only = '', short } = context.settings;
  const figures: FigureTable[] = [];
  for (const size of short ? SHORT : FULL) {
    const title = `${size.entities} entities to ${size.tenants} tenants`;
    if (title.includes(only)) {
      figures.push(await measure(context, size, title));
    }
  }
  return {
    circumstances: 'One backend with the engines of all tenants',
    comparisons: [],
    figures,
    notes: [],
  };
}

async function measure(
  context: BenchmarkContext,
  size: Size,
  title: string,
): Promise<FigureTable> {
  const { postgres, progress, settings } = context;
  const name = `shares_${size.tenants}`;
  const database = { postgres, name };
  const server = await startServer(context, name, { withEngines: true });
  try {
    const receivers = Array.from(
      { length: size.tenants },
      (_, index) => `tenant-${index}`,
    );
    progress(`${title}: creating the tenants`);
    for (let at = 0; at < receivers.length; at += STARTS) {
      const some = receivers.slice(at, at + STARTS);
      await Promise.all(some.map(tenant => addTenant(server, tenant)));
    }
    await addTenant(server, SOURCE);
    await addTenant(server, BUSY);
    // Each tenant has the entity number 0 itself.
    const first: Provision = { first: 1, length: size.entities, revision: 1 };
    await provide(server, first);
    await untilServed(server, first, SOURCE);

    const row = async (what: string, work: () => Promise<unknown>) => {
      progress(`${title}: ${what}`);
      const before = await loadOf(server, database);
      const start = performance.now();
      const until = work();
      const { p50, p99, refused } = await keepAskingAs(server, BUSY, until);
      const seconds = (performance.now() - start) / 1000;
      const after = await loadOf(server, database);
      return [
        what,
        seconds.toFixed(1),
        (after.node - before.node).toFixed(1),
        (after.postgres - before.postgres).toFixed(1),
        `${p50.toFixed(1)} / ${p99.toFixed(1)}`,
        refused,
      ];
    };
    const untilAllHave = async (served: Omit<Provision, 'first'>) => {
      for (const tenant of receivers) {
        await untilServed(server, served, tenant);
      }
    };
    const rows = [
      await row('nothing is shared', () => delay(settings.seconds * 10_000)),
      await row('until all have them', async () => {
        const body = {
          targets: receivers,
          filter: ['metadata.labels.revision'],
        };
        await send(server, 'POST', `tenants/${SOURCE}/shares`, { body });
        await untilAllHave(first);
      }),
      await row('one change until it is everywhere', async () => {
        await provide(server, { ...first, revision: 2, others: 1 });
        await untilAllHave({ length: 1, revision: 2 });
      }),
    ];
    return { title, head: HEAD, rows };
  } finally {
    await server.stop();
  }
}

async function provide(server: ServerProcess, body: Provision): Promise<void> {
  const options = { tenant: SOURCE, body };
  await send(server, 'POST', 'catalog/benchmark', options);
}

/** Asks for the pages of a tenant's list, one after the other, until something has happened. */
function keepAskingAs(
  { url }: ServerProcess,
  tenant: string,
  until: Promise<unknown>,
) {
  const headers = {
    authorization: `Bearer ${SERVICE_TOKEN}`,
    'x-tenant-slug': tenant,
  };
  const path = '/api/catalog/entities/by-query?limit=20';
  const request = { method: 'GET' as const, path, headers };
  return keepAsking(url, [request], {
    connections: 1,
    until,
    allowRefusals: true,
  });
}

/** Seconds so far: of the server's processor, and of the statements in its database. */
async function loadOf(server: ServerProcess, database: Database) {
  const cpu = JSON.parse(
    await send(server, 'GET', 'catalog/benchmark/cpu', { tenant: BUSY }),
  );
  const { rows } = await withClient(database, client =>
    client.query<{ seconds: number }>(STATEMENTS),
  );
  return {
    node: (cpu.user + cpu.system) / 1e6,
    postgres: Number(rows[0].seconds),
  };
}
