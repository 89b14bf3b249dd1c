import { setTimeout as delay } from 'node:timers/promises';
import { registryChannel } from 'backstage-catalog-tenancy-migrations';
import { SCHEMA } from '../harness/backend';
import type {
  Benchmark,
  BenchmarkContext,
  BenchmarkResult,
} from '../harness/Benchmark';
import { CatalogPairs, tenantOf } from '../harness/catalogs';
import { type CatalogRequest, CatalogServer } from '../harness/CatalogServer';
import {
  compare,
  type Contestant,
  type Measured,
  measureInTurn,
} from '../harness/comparison';
import { createScenarios } from '../catalog/scenarios';
import { type Database, withClient } from '../harness/database';
import { keepAskingFor } from '../harness/load';
import { startTogether } from '../harness/servers';
import { measureIdle } from './idle';
import { findNginx, Nginx } from './nginx';

const FULL = {
  entities: 5_000,
  counts: [1, 2, 4],
  idle: { tenants: 50, seconds: 60 },
};
const SHORT: typeof FULL = {
  entities: 300,
  counts: [1, 2],
  idle: { tenants: 2, seconds: 5 },
};

/** How many of the scenarios of the catalog are asked for in turn. */
const VARIANTS = 20;

/** Of the registry, while it is changed. */
const CHANGE_EVERY_MS = 100;

/** Several processes behind nginx, beside one, ours and those of the stock catalog. */
export const processesBenchmark: Benchmark = {
  name: 'processes',
  rounds: { full: 5, short: 1 },
  run,
};

async function run(context: BenchmarkContext): Promise<BenchmarkResult> {
  const { progress, settings } = context;
  const executable = findNginx();
  if (!executable) {
    throw new Error('There is no nginx on the PATH: install it');
  }
  const { counts, entities, idle } = settings.short ? SHORT : FULL;
  const idleFigures = await measureIdle(context, { counts, ...idle });
  const pair = await new CatalogPairs(context).create({ entities });
  const most = Math.max(...counts);
  progress(`starting ${most} backends of each catalog`);
  const start = (name: string, database: Database, tenant?: string) =>
    CatalogServer.start(context, { name, database: database.name, tenant });
  const tenant = tenantOf({ entities });
  const servers: CatalogServer[] = [];
  const proxies: Nginx[] = [];
  try {
    // The first makes the tables of the plugins, the others find them.
    for (const [name, database, slug] of [
      ['stock', pair.stock],
      ['ours', pair.ours, tenant],
    ] as const) {
      servers.push(await start(name, database, slug));
      servers.push(
        ...(await startTogether(
          Array.from({ length: most - 1 }, () => start(name, database, slug)),
        )),
      );
    }
    const requests = createScenarios(entities, VARIANTS).flatMap(scenario =>
      scenario.requests.slice(0, VARIANTS),
    );
    const contestants: Contestant[] = [];
    for (const side of [servers.slice(0, most), servers.slice(most)]) {
      for (const count of counts) {
        const chosen = side.slice(0, count);
        const proxy = await Nginx.start(
          executable,
          chosen.map(({ url }) => url),
        );
        proxies.push(proxy);
        contestants.push(
          await answering(context, { servers: chosen, proxy, requests }),
        );
      }
    }
    const busiest = contestants[contestants.length - 1];
    contestants.push({
      name: `${busiest.name}, registry changed`,
      measure: seconds =>
        whileChanging(pair.ours, tenant, () => busiest.measure(seconds)),
    });
    progress(`${contestants.map(({ name }) => name).join(', ')} in turn`);
    const measured = await measureInTurn(contestants, settings);
    return {
      circumstances:
        `${entities} entities; ${settings.concurrency} requests at a time, of all kinds of the ` +
        'catalog, through nginx; load, nginx and PostgreSQL are on the same machine',
      comparisons: compareAll(measured, counts.length),
      figures: [idleFigures],
      notes: [
        `"registry changed": the tenant is renamed every ${CHANGE_EVERY_MS} ms`,
      ],
    };
  } finally {
    await Promise.all([...proxies, ...servers].map(each => each.stop()));
  }
}

/** Each with more processes beside its own single one, and the last beside itself. */
function compareAll(measured: Measured[], sizes: number) {
  const stock = measured.slice(0, sizes);
  const [changed] = measured.slice(2 * sizes);
  const ours = measured.slice(sizes, 2 * sizes);
  const pairs = [stock, ours].flatMap(([one, ...more]) =>
    more.map(each => [each, one]),
  );
  return [...pairs, [changed, ours[sizes - 1]]].map(([side, beside]) =>
    compare({ what: 'reads of all kinds', ours: side, alternative: beside }),
  );
}

async function answering(
  { settings: { concurrency: connections } }: BenchmarkContext,
  options: {
    servers: CatalogServer[];
    proxy: Nginx;
    requests: CatalogRequest[];
  },
): Promise<Contestant> {
  const { servers, proxy, requests } = options;
  const [{ name }] = servers;
  const checked = await servers[0].check(requests);
  return {
    name: `${name}, ${servers.length}`,
    measure: seconds =>
      keepAskingFor(seconds, proxy.url, checked, { connections }),
  };
}

/** Has the registry of each process read the tenant again and again. */
async function whileChanging<T>(
  database: Database,
  tenant: string,
  work: () => Promise<T>,
): Promise<T> {
  return withClient(database, async client => {
    let isOver = false;
    const change = async () => {
      for (let nr = 0; !isOver; nr += 1) {
        await client.query(
          `update ${SCHEMA}.tenants set tenant_name = 'Change ${nr}' where tenant_slug = '${tenant}';
           select pg_notify('${registryChannel(
             SCHEMA,
           )}', '{"tenantSlug": "${tenant}"}')`,
        );
        await delay(CHANGE_EVERY_MS);
      }
    };
    const changing = change();
    try {
      return await work();
    } finally {
      isOver = true;
      await changing;
    }
  });
}
