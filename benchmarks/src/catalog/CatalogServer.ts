import type { BenchmarkContext } from '../harness/Benchmark';
import { LoadGenerator, type LoadRequest } from '../harness/load';
import type { Contestant } from '../harness/rounds';
import { ServerProcess } from '../harness/ServerProcess';
import { tokenOfGuest } from '../harness/token';
import { SERVICE_TOKEN } from './constants';
import type { ServerSettings } from './servers/settings';

/** Who asks. What users may read, the permission backend is asked for each request. */
export type Caller = 'service' | 'user';

/** What is sent to a catalog, addressed within its plugin. */
export interface CatalogRequest extends LoadRequest {
  /** A service by default. */
  caller?: Caller;
}

/** A request, with the length of the answer that was found to be right. */
interface CheckedRequest extends LoadRequest {
  answerBytes: number;
}

/** A backend with a catalog, in a process of its own, and the load on it. */
export class CatalogServer {
  readonly name: string;
  readonly #server: ServerProcess;
  readonly #load: LoadGenerator;
  readonly #tokens: Record<Caller, string>;
  readonly #tenant: string | undefined;

  /** @param options.tenant - whose catalog is asked for; none for a stock backend */
  static async start(options: {
    name: string;
    database: string;
    context: BenchmarkContext;
    tenant?: string;
  }): Promise<CatalogServer> {
    const { name, database, context, tenant } = options;
    const settings: ServerSettings = {
      connection: { ...context.connection, database },
      withTenants: tenant !== undefined,
    };
    const server = await ServerProcess.start(
      require.resolve('./servers/backend'),
      settings,
    );
    return new CatalogServer({
      name,
      server,
      load: new LoadGenerator({
        url: server.url,
        concurrency: context.settings.concurrency,
      }),
      tokens: {
        service: SERVICE_TOKEN,
        user: await tokenOfGuest(server.url),
      },
      tenant,
    });
  }

  private constructor(options: {
    name: string;
    server: ServerProcess;
    load: LoadGenerator;
    tokens: Record<Caller, string>;
    tenant: string | undefined;
  }) {
    this.name = options.name;
    this.#server = options.server;
    this.#load = options.load;
    this.#tokens = options.tokens;
    this.#tenant = options.tenant;
  }

  /** Of the process of the backend. */
  get pid(): number {
    return this.#server.pid;
  }

  /**
   * Makes the server a contestant in answering some requests, each as often as the
   * others, and each with an answer of the same length as it has now.
   */
  async answering(
    requests: CatalogRequest[],
    name = this.name,
  ): Promise<Contestant> {
    const checked: CheckedRequest[] = [];
    for (const request of requests) {
      const complete = this.#complete(request);
      const answer = await this.#load.send(complete);
      checked.push({ ...complete, answerBytes: Buffer.byteLength(answer) });
    }
    return {
      name,
      measure: seconds => {
        let next = 0;
        return this.#load.run(seconds, () => checked[next++ % checked.length]);
      },
    };
  }

  /** Sends one request, and returns the parsed answer. */
  async send<T>(request: CatalogRequest): Promise<T> {
    return JSON.parse(await this.#load.send(this.#complete(request)));
  }

  async stop(): Promise<void> {
    await this.#load.close();
    await this.#server.stop();
  }

  #complete({
    path,
    headers,
    caller = 'service',
    ...rest
  }: CatalogRequest): LoadRequest {
    return {
      ...rest,
      path: `/api/catalog${path}`,
      headers: {
        ...headers,
        authorization: `Bearer ${this.#tokens[caller]}`,
        ...(this.#tenant && { 'x-tenant-slug': this.#tenant }),
      },
    };
  }
}
