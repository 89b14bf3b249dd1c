import { setTimeout as delay } from 'node:timers/promises';
import { request } from 'undici';
import type { BenchmarkContext } from '../harness/Benchmark';
import { adoptCatalog, createStockTables } from '../harness/catalogs';
import {
  type Database,
  runStatements,
  withClient,
  withKnex,
} from '../harness/database';
import { createEntity } from '../harness/entities';
import { ServerProcess, SERVICE_TOKEN } from '../harness/servers';
import type { EnginesBackendSettings } from './backend';

const LIMIT_MS = 240_000;
const POLL_MS = 50;

/** A backend with its database. */
export class EnginesServer {
  static async start(
    { connection, postgres }: BenchmarkContext,
    name: string,
    { withEngines }: { withEngines: boolean },
  ): Promise<EnginesServer> {
    const database = { postgres, name };
    await runStatements({ postgres, name: 'postgres' }, [
      `create database ${name}`,
    ]);
    if (withEngines) {
      await withKnex(postgres, name, createStockTables);
      await adoptCatalog(database);
    }
    const settings: EnginesBackendSettings = {
      connection: { ...connection, database: name },
      withEngines,
    };
    return new EnginesServer(database, settings, await startProcess(settings));
  }

  private constructor(
    readonly database: Database,
    private readonly settings: EnginesBackendSettings,
    private process: ServerProcess,
  ) {}

  get pid(): number {
    return this.process.pid;
  }

  /** Keeps the server from all work, until it is resumed. */
  suspend(): void {
    process.kill(this.pid, 'SIGSTOP');
  }

  /** Nothing, if it has ended. */
  resume(): void {
    try {
      process.kill(this.pid, 'SIGCONT');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') {
        throw error;
      }
    }
  }

  stop(): Promise<void> {
    return this.process.stop();
  }

  /** @returns the seconds from the start of the new process until it answers */
  async restart(): Promise<number> {
    await this.process.stop();
    return secondsOf(async () => {
      this.process = await startProcess(this.settings);
    });
  }

  async send(
    method: 'GET' | 'POST' | 'PUT',
    path: string,
    options: { tenant?: string; body?: object } = {},
  ): Promise<{ status: number; text: string }> {
    const { tenant, body } = options;
    const response = await request(`${this.process.url}/api/${path}`, {
      method,
      headers: {
        authorization: `Bearer ${SERVICE_TOKEN}`,
        ...(body && { 'content-type': 'application/json' }),
        ...(tenant && { 'x-tenant-slug': tenant }),
      },
      body: body && JSON.stringify(body),
      // A server that was suspended has closed its connections when it goes on.
      reset: true,
    });
    return { status: response.statusCode, text: await response.body.text() };
  }

  /** @throws if the answer is no success */
  async ask(...args: Parameters<EnginesServer['send']>): Promise<string> {
    const { status, text } = await this.send(...args);
    if (status >= 300) {
      throw new Error(`${args[0]} ${args[1]}: status ${status}: ${text}`);
    }
    return text;
  }

  async memory(): Promise<NodeJS.MemoryUsage> {
    return JSON.parse(await this.ask('GET', 'benchmark/memory'));
  }

  /** How many connections it has to its database. */
  connections(): Promise<number> {
    const { postgres, name } = this.database;
    return withClient({ postgres, name: 'postgres' }, async client => {
      const { rows } = await client.query<{ count: number }>(
        `select count(*)::int as count from pg_stat_activity where datname = $1`,
        [name],
      );
      return rows[0].count;
    });
  }

  /** Waits until so many entities are served as the provider gave them last. */
  async untilServed(
    entities: number,
    revision: number,
    tenant?: string,
    everyMs?: number,
  ): Promise<void> {
    const path = `catalog/entities/by-query?limit=1&fields=kind&filter=metadata.labels.revision=${revision}`;
    await until(
      `${entities} entities of ${tenant ?? 'the stock'}`,
      async () => {
        const page: { totalItems: number } = JSON.parse(
          await this.ask('GET', path, { tenant }),
        );
        return page.totalItems === entities;
      },
      everyMs,
    );
  }
}

function startProcess(settings: EnginesBackendSettings) {
  return ServerProcess.start(require.resolve('./backend'), settings);
}

export async function until(
  what: string,
  condition: () => Promise<boolean>,
  everyMs = POLL_MS,
): Promise<void> {
  const end = performance.now() + LIMIT_MS;
  while (!(await condition())) {
    if (performance.now() > end) {
      throw new Error(`Waited for more than ${LIMIT_MS / 1000} s: ${what}`);
    }
    await delay(everyMs);
  }
}

/** @returns how long the action takes */
export async function secondsOf(
  action: () => Promise<unknown>,
): Promise<number> {
  const start = performance.now();
  await action();
  return (performance.now() - start) / 1000;
}

/**
 * Creates a tenant with an engine.
 *
 * @returns the seconds until the first entity is served
 */
export async function enable(
  server: EnginesServer,
  tenant: string,
): Promise<number> {
  await server.ask('POST', 'tenants', {
    body: { tenant_slug: tenant, tenant_name: tenant, engine: false },
  });
  return secondsOf(async () => {
    await server.ask('PUT', `tenants/${tenant}/engine`);
    const { entity } = createEntity(0);
    const { name, namespace } = entity.metadata;
    const path = `catalog/entities/by-name/${entity.kind}/${namespace}/${name}`;
    await until(
      `the first entity of ${tenant}`,
      async () => (await server.send('GET', path, { tenant })).status === 200,
    );
  });
}
