import type { BenchmarkContext } from '../harness/Benchmark';
import { LoadGenerator, type LoadRequest } from '../harness/load';
import type { Contestant } from '../harness/rounds';
import { ServerProcess } from '../harness/ServerProcess';
import { tokenOfGuest } from '../harness/token';
import { copyDatabase } from './database';
import type { ServerSettings } from './servers/settings';

/** The servers of this benchmark, by the file that starts each. */
export const SERVERS = {
  backend: 'ours, in a whole backend',
  routes: 'ours, routes alone',
  plain: 'express + pg',
};

/** One of the servers, on its own copy of the data, and the load on it. */
export class MockupServer {
  readonly name: string;
  readonly isOurs: boolean;
  readonly database: string;
  readonly #server: ServerProcess;
  readonly #load: LoadGenerator;
  readonly #complete: (request: LoadRequest) => LoadRequest;

  static async start(
    kind: keyof typeof SERVERS,
    context: BenchmarkContext,
    template: string,
  ): Promise<MockupServer> {
    const {
      postgres,
      connection,
      settings: { concurrency },
    } = context;
    const database = `${template}_${kind}`;
    await copyDatabase(postgres, template, database);

    const settings: ServerSettings = {
      connection: { ...connection, database },
    };
    const server = await ServerProcess.start(
      require.resolve(`./servers/${kind}`),
      settings,
    );
    return new MockupServer({
      kind,
      database,
      server,
      load: new LoadGenerator({ url: server.url, concurrency }),
      complete: kind === 'backend' ? await asGuest(server.url) : r => r,
    });
  }

  private constructor(options: {
    kind: keyof typeof SERVERS;
    database: string;
    server: ServerProcess;
    load: LoadGenerator;
    complete: (request: LoadRequest) => LoadRequest;
  }) {
    this.name = SERVERS[options.kind];
    this.isOurs = options.kind !== 'plain';
    this.database = options.database;
    this.#server = options.server;
    this.#load = options.load;
    this.#complete = options.complete;
  }

  /** Makes the server a contestant in answering such requests. */
  answering(nextRequest: () => LoadRequest, name = this.name): Contestant {
    return {
      name,
      measure: seconds =>
        this.#load.run(seconds, () => this.#complete(nextRequest())),
    };
  }

  /** Sends one request, and returns the parsed response. */
  async send(request: LoadRequest): Promise<Record<string, unknown>> {
    return JSON.parse(await this.#load.send(this.#complete(request)));
  }

  async stop(): Promise<void> {
    await this.#load.close();
    await this.#server.stop();
  }
}

/** Addresses requests to the plugin within a backend, signed in as its guest. */
async function asGuest(url: string) {
  const authorization = `Bearer ${await tokenOfGuest(url)}`;

  return ({ path, headers, ...rest }: LoadRequest): LoadRequest => ({
    ...rest,
    path: `/api/mockup${path}`,
    headers: { ...headers, authorization },
  });
}
