import { setTimeout as delay } from 'node:timers/promises';
import { SERVICE_TOKEN } from '../harness/backend';
import type { BenchmarkContext } from '../harness/Benchmark';
import { adoptCatalog, createEmptyCatalog } from '../harness/catalogs';
import { type Database, withClient } from '../harness/database';
import { createEntity } from '../harness/entities';
import { type LoadRequest, sendOnce } from '../harness/load';
import { ServerProcess } from '../harness/servers';
import type { EnginesBackendSettings, Provision } from './backend';

const LIMIT_MS = 240_000;
const POLL_MS = 50;

/** A backend with its database. */
export class EnginesServer {
  static async start(
    { connection, postgres }: BenchmarkContext,
    name: string,
    { withEngines }: { withEngines: boolean },
  ): Promise<EnginesServer> {
    const database = await createEmptyCatalog({ postgres, name });
    if (withEngines) {
      await adoptCatalog(database);
    }
    const settings: EnginesBackendSettings = {
      connection: { ...connection, database: name },
      withEngines,
    };
    const file = require.resolve('./backend');
    const process = await ServerProcess.start(file, settings);
    return new EnginesServer(database, process);
  }

  private constructor(
    private readonly database: Database,
    private readonly process: ServerProcess,
  ) {}

  stop(): Promise<void> {
    return this.process.stop();
  }

  private send(
    method: LoadRequest['method'],
    path: string,
    { tenant, body }: { tenant?: string; body?: object } = {},
  ): Promise<{ status: number; text: string }> {
    return sendOnce(this.process.url, {
      method,
      path: `/api/${path}`,
      headers: {
        authorization: `Bearer ${SERVICE_TOKEN}`,
        ...(body && { 'content-type': 'application/json' }),
        ...(tenant && { 'x-tenant-slug': tenant }),
      },
      body: body && JSON.stringify(body),
    });
  }

  /** @throws Error if the answer is no success */
  private async ask(
    ...args: Parameters<EnginesServer['send']>
  ): Promise<string> {
    const { status, text } = await this.send(...args);
    if (status >= 300) {
      throw new Error(`${args[0]} ${args[1]}: status ${status}: ${text}`);
    }
    return text;
  }

  /**
   * Creates a tenant, which has an engine by default.
   *
   * @returns the seconds until the first entity is served
   */
  async addTenant(tenant: string): Promise<number> {
    return secondsOf(async () => {
      await this.ask('POST', 'tenants', {
        body: { tenant_slug: tenant, tenant_name: tenant },
      });
      const { kind, metadata } = createEntity(0).entity;
      const path = `catalog/entities/by-name/${kind}/${metadata.namespace}/${metadata.name}`;
      await until(`the first entity of ${tenant}`, async () => {
        const { status } = await this.send('GET', path, { tenant });
        return status === 200;
      });
    });
  }

  /** Has the provider of an engine give entities, each of which has changed. */
  async provide(provision: Provision, tenant?: string): Promise<void> {
    await this.ask('POST', 'catalog/benchmark', { tenant, body: provision });
  }

  /** Waits until so many entities are served as the provider gave them last. */
  async untilServed(
    { length, revision }: Pick<Provision, 'length' | 'revision'>,
    tenant?: string,
  ): Promise<void> {
    const path = `catalog/entities/by-query?limit=1&fields=kind&filter=metadata.labels.revision=${revision}`;
    const isServed = async () => {
      const answer = await this.ask('GET', path, { tenant });
      return JSON.parse(answer).totalItems === length;
    };
    const what = `${length} entities of ${tenant ?? 'the stock catalog'}`;
    await until(what, isServed);
  }

  /** The heap of the backend after a garbage collection. */
  async heapMiB(): Promise<number> {
    return Number(await this.ask('GET', 'benchmark/heap')) / 2 ** 20;
  }

  async countConnections(): Promise<number> {
    return withClient(this.database, async client => {
      const { rows } = await client.query<{ count: number }>(
        `select count(*)::int as count from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid()`,
      );
      return rows[0].count;
    });
  }
}

/** @throws Error if it takes very long */
async function until(
  what: string,
  condition: () => Promise<boolean>,
): Promise<void> {
  const end = performance.now() + LIMIT_MS;
  while (!(await condition())) {
    if (performance.now() > end) {
      throw new Error(`Waited for more than ${LIMIT_MS / 1000} s: ${what}`);
    }
    await delay(POLL_MS);
  }
}

/** How long an action takes. */
export async function secondsOf(
  action: () => Promise<unknown>,
): Promise<number> {
  const start = performance.now();
  await action();
  return (performance.now() - start) / 1000;
}
