import { isDeepStrictEqual } from 'node:util';
import type { CatalogBackendSettings } from '../catalog/backend';
import { NOTHING_PATH } from '../catalog/requests';
import type { BenchmarkContext } from '../harness/Benchmark';
import type { Contestant } from '../harness/comparison';
import { keepBusy, LoadGenerator, type LoadRequest } from '../harness/load';
import { ServerProcess, tokenOfGuest } from '../harness/servers';
import type { RecordedRequest, View } from './views';

/** How many requests a browser has under way to one server, by HTTP/1.1. */
const CONNECTIONS = 6;

/**
 * Each page has the token of somebody else, of so many: one comes back after two seconds of 30
 * pages each, when nothing holds any longer that was decided for it.
 */
const TOKENS = 64;

/** A backend with a catalog, and users who look at pages of it. */
export class PageServer {
  readonly name: string;
  readonly #server: ServerProcess;
  readonly #load: LoadGenerator;
  readonly #headers: Record<string, string>;
  readonly #tokens: string[];
  #next = 0;

  /**
   * @param options.tenant - whose catalog is asked for; none for a stock backend
   * @param options.maxDecisionAgeMs - for how long what a user may read holds; for the one
   * request without it
   * @param options.users - how many there are at most at the same time
   */
  static async start(options: {
    name: string;
    database: string;
    context: BenchmarkContext;
    tenant?: string;
    maxDecisionAgeMs?: number;
    users: number;
  }): Promise<PageServer> {
    const { name, database, context, tenant, maxDecisionAgeMs, users } =
      options;
    const settings: CatalogBackendSettings = {
      connection: { ...context.connection, database },
      withTenants: tenant !== undefined,
      membership: 'required',
      maxDecisionAgeMs,
      nothingPath: NOTHING_PATH,
    };
    const server = await ServerProcess.start(
      require.resolve('../catalog/backend'),
      settings,
    );
    const tokens: string[] = [];
    while (tokens.length < TOKENS) {
      tokens.push(await tokenOfGuest(server.url));
    }
    return new PageServer({
      name,
      server,
      load: new LoadGenerator({
        url: server.url,
        concurrency: users * CONNECTIONS,
      }),
      headers: tenant ? { 'x-tenant-slug': tenant } : {},
      tokens,
    });
  }

  private constructor(options: {
    name: string;
    server: ServerProcess;
    load: LoadGenerator;
    headers: Record<string, string>;
    tokens: string[];
  }) {
    this.name = options.name;
    this.#server = options.server;
    this.#load = options.load;
    this.#headers = options.headers;
    this.#tokens = options.tokens;
  }

  /** Of the process of the backend. */
  get pid(): number {
    return this.#server.pid;
  }

  /**
   * Makes the server a contestant in serving pages to users, each with one at a time.
   *
   * @param options.nothing - each request goes to the route that does nothing instead, and has
   * this name
   */
  viewing(
    views: View[],
    users: number,
    options: { nothing?: string } = {},
  ): Contestant {
    const { nothing } = options;
    const seen = nothing === undefined ? views : views.map(toNothing);
    let next = 0;
    return {
      name: nothing ?? this.name,
      measure: seconds =>
        keepBusy(users, seconds, () => this.#view(seen[next++ % seen.length])),
    };
  }

  /** The parsed answer to one request. */
  async answer(request: RecordedRequest): Promise<unknown> {
    const headers = this.#authorize();
    return JSON.parse(await this.#load.send(this.#complete(request, headers)));
  }

  async stop(): Promise<void> {
    await this.#load.close();
    await this.#server.stop();
  }

  /** Sends what a page sends, in its order, through as many connections as a browser has. */
  async #view({ requests }: View): Promise<void> {
    const headers = {
      ...this.#authorize(),
      // As browsers do: to compress is a part of the work.
      'accept-encoding': 'gzip, deflate',
    };
    const answered = new Map<number, Promise<void>>();
    const underWay = new Set<Promise<void>>();
    for (const request of requests) {
      await answered.get(request.step - 1);
      while (underWay.size >= CONNECTIONS) {
        await Promise.race(underWay);
      }
      const sent: Promise<void> = this.#load
        .send(this.#complete(request, headers))
        .then(() => {
          underWay.delete(sent);
        });
      underWay.add(sent);
      const others = answered.get(request.step);
      answered.set(request.step, others ? Promise.race([others, sent]) : sent);
    }
    await Promise.all(underWay);
  }

  /** Of the next user. */
  #authorize(): Record<string, string> {
    const token = this.#tokens[this.#next++ % this.#tokens.length];
    return { authorization: `Bearer ${token}` };
  }

  #complete(
    { method, path, body }: RecordedRequest,
    headers: Record<string, string>,
  ): LoadRequest {
    return {
      method,
      path: `/api/catalog${path}`,
      headers: {
        ...this.#headers,
        ...headers,
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    };
  }
}

/** As many requests, in the same order. */
function toNothing({ what, requests }: View): View {
  return {
    what,
    requests: requests.map(({ step }) => ({
      method: 'GET',
      path: NOTHING_PATH,
      step,
    })),
  };
}

/**
 * Makes sure that all servers do the same work: they must answer the same to each request.
 *
 * @throws Error that names the request which they answer differently
 */
export async function assertSameViews(
  [reference, ...others]: PageServer[],
  views: View[],
): Promise<void> {
  for (const { what, requests } of views) {
    for (const request of requests) {
      const expected = await reference.answer(request);
      for (const other of others) {
        if (!isDeepStrictEqual(await other.answer(request), expected)) {
          throw new Error(
            `${what}: "${other.name}" and "${reference.name}" answer ` +
              `${request.method} ${request.path} differently`,
          );
        }
      }
    }
  }
}
