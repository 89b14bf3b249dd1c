import { Pool } from 'undici';
import type { BenchmarkContext } from '../harness/Benchmark';
import { ServerProcess } from '../harness/ServerProcess';
import { tokenOfGuest } from '../harness/token';
import { Client, type ClientOptions } from './clients/Client';
import { BENCHMARK_PATH, SERVICE_TOKEN } from './constants';
import type { Memory, ServerSettings } from './servers/settings';

/**
 * Who asks. What users may read, the permission backend is asked for each request. The
 * user is an administrator, too.
 */
export type Caller = 'service' | 'user';

/** A client to be made. */
export type NewClient = Omit<ClientOptions, 'pool' | 'token'> & {
  caller: Caller;
};

/** The backend that is kept busy, in a process of its own. */
export class LoadServer {
  readonly #process: ServerProcess;
  readonly #tokens: Record<Caller, string>;
  readonly #pools: Pool[] = [];

  static async start(
    { connection }: BenchmarkContext,
    database: string,
  ): Promise<LoadServer> {
    const settings: ServerSettings = {
      connection: { ...connection, database },
    };
    const process = await ServerProcess.start(
      require.resolve('./servers/backend'),
      settings,
    );
    return new LoadServer(process, {
      user: await tokenOfGuest(process.url),
      service: SERVICE_TOKEN,
    });
  }

  private constructor(process: ServerProcess, tokens: Record<Caller, string>) {
    this.#process = process;
    this.#tokens = tokens;
  }

  /** Clients with a connection each. */
  createClients(clients: NewClient[]): Client[] {
    const pool = new Pool(this.#process.url, {
      connections: clients.length,
      // One request at a time per connection, as browsers and proxies do it.
      pipelining: 1,
    });
    this.#pools.push(pool);
    return clients.map(
      ({ caller, ...options }) =>
        new Client({ ...options, pool, token: this.#tokens[caller] }),
    );
  }

  /** What its process takes at the moment. */
  async memory(): Promise<Memory> {
    const response = await fetch(
      `${this.#process.url}${BENCHMARK_PATH}/memory`,
      { headers: { authorization: `Bearer ${SERVICE_TOKEN}` } },
    );
    if (!response.ok) {
      throw new Error(
        `The backend does not tell its memory: ${response.status}`,
      );
    }
    return response.json();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#pools.map(pool => pool.close()));
    await this.#process.stop();
  }
}
