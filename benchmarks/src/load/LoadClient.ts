import type { Random } from '@internal/postgres';
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import { errors, Pool } from 'undici';
import type { BenchmarkContext } from '../harness/Benchmark';
import {
  type EventLoopDelay,
  ServerProcess,
  SERVICE_TOKEN,
  tokenOfGuest,
} from '../harness/servers';
import type { LoadBackendSettings } from './backend';
import type { LoadMeasurement } from '../harness/load';
import { NANOSECONDS_PER_MS, recordMs } from '../harness/waits';
import {
  assertPiecesTellOnlyOf,
  assertTellsOnlyOf,
  type Exchange,
  type LoadTenant,
  type Task,
} from './requests';

/** The host `<slug>.portal.example.com` names a tenant. */
const BASE_DOMAIN = 'portal.example.com';

/** How a client names its tenant. */
type Naming = 'hostname' | 'header';

/** What a client has and does. */
interface LoadClientOptions {
  pool: Pool;
  token: string;
  naming: Naming;
  tenant: LoadTenant;
  tasks: Task[];
  random: Random;
}

/** There is too much to do: for the tenant, or for the backend. */
const REFUSALS = [429, 503];

/** Somebody who asks for one thing after the other, and looks at each answer. */
export class LoadClient {
  readonly #options: LoadClientOptions;

  constructor(options: LoadClientOptions) {
    this.#options = options;
  }

  /** Does one task after the other, until it is over. */
  async keepAsking(log: RequestLog, isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      await this.askNext(log);
    }
  }

  /** Does one task, with all of its requests unless one of them fails. */
  async askNext(log: RequestLog): Promise<void> {
    const { tasks, tenant, random } = this.#options;
    for (const step of random.weighted(tasks).start(tenant, random)) {
      if (!(await this.ask(step(), log))) {
        break;
      }
    }
  }

  /** @returns whether the answer was right */
  async ask(exchange: Exchange, log: RequestLog): Promise<boolean> {
    const { what, tenant, status = 200, check } = exchange;
    try {
      const sent = performance.now();
      const answer = await this.#send(exchange);
      const ms = performance.now() - sent;
      if (REFUSALS.includes(answer.status)) {
        log.refuse(what);
        return false;
      }
      if (answer.status !== status) {
        throw new Error(
          `status ${answer.status}, where ${status} is right: ${answer.text}`,
        );
      }
      assertTellsOnlyOf(tenant, answer.text);
      check(answer.text);
      log.answer(what, ms);
      return true;
    } catch (error) {
      // It has a status already when its next part is refused.
      if (exchange.long && error instanceof errors.SocketError) {
        log.refuse(what);
      } else {
        log.fail(what, error);
      }
      return false;
    }
  }

  async #send({ method, path, tenant, body, long }: Exchange) {
    const { pool, token, naming } = this.#options;
    const response = await pool.request({
      method,
      path,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body && { 'content-type': 'application/json' }),
        // The other plugins are asked about a tenant, and in none.
        ...(path.startsWith('/api/catalog/') &&
          (naming === 'hostname'
            ? { host: `${tenant.slug}.${BASE_DOMAIN}` }
            : { 'x-tenant-slug': tenant.slug })),
      },
      body: body && JSON.stringify(body),
    });
    const status = response.statusCode;
    if (long && status < 300) {
      await assertPiecesTellOnlyOf(tenant, response.body.setEncoding('utf8'));
      return { status, text: '' };
    }
    return { status, text: await response.body.text() };
  }
}

/** What became of the requests of a kind. */
interface Entry {
  times: RecordableHistogram;
  refused: number;
  failed: number;
}

// Of the messages of failures: the first ones tell what is wrong.
const MESSAGES = 10;
const ALL = 'all of them';

/** What clients went through: how long each kind of request took, and what failed. */
export class RequestLog {
  /** What was wrong, of the first failures. */
  readonly failures: string[] = [];
  readonly #entries = new Map<string, Entry>();
  readonly #all = createEntry();
  readonly #start = performance.now();
  #seconds?: number;

  /** A request was answered, and rightly. */
  answer(what: string, ms: number): void {
    for (const { times } of [this.#entry(what), this.#all]) {
      recordMs(times, ms);
    }
  }

  /** A request was answered with 429 or 503: there is too much to do. */
  refuse(what: string): void {
    for (const entry of [this.#entry(what), this.#all]) {
      entry.refused += 1;
    }
  }

  /** A request was not answered, or wrongly. */
  fail(what: string, error: unknown): void {
    for (const entry of [this.#entry(what), this.#all]) {
      entry.failed += 1;
    }
    if (this.failures.length < MESSAGES) {
      this.failures.push(`${what}: ${error}`);
    }
  }

  /** Nobody asks for anything any more. */
  close(): void {
    this.#seconds = (performance.now() - this.#start) / 1000;
  }

  /** Takes over what another one, that is closed, has. */
  add(log: RequestLog): void {
    for (const [what, entry] of log.#entries) {
      addTo(this.#entry(what), entry);
    }
    addTo(this.#all, log.#all);
    this.failures.push(...log.failures);
    this.#seconds = (this.#seconds ?? 0) + log.seconds;
  }

  /** How many were answered with 429 or 503. */
  get refused(): number {
    return this.#all.refused;
  }

  /** How many were not answered, or wrongly. */
  get failed(): number {
    return this.#all.failed;
  }

  /** All kinds together. */
  measurement(): LoadMeasurement {
    const { times } = this.#all;
    return {
      count: times.count,
      perSecond: times.count / this.seconds,
      p50: percentile(times, 50),
      p99: percentile(times, 99),
    };
  }

  /** In milliseconds, of one kind or of all together. */
  percentile(share: number, what?: string): number {
    const { times } = what === undefined ? this.#all : this.#entry(what);
    return percentile(times, share);
  }

  get seconds(): number {
    return this.#seconds ?? (performance.now() - this.#start) / 1000;
  }

  /** By kind, the most frequent first, and in the end all together. */
  rows(): string[][] {
    const entries = [...this.#entries].toSorted(
      ([, a], [, b]) => b.times.count - a.times.count,
    );
    return [...entries, [ALL, this.#all] as const].map(
      ([what, { times, refused, failed }]) => [
        what,
        String(times.count),
        (times.count / this.seconds).toFixed(times.count < 1000 ? 1 : 0),
        ...[50, 95, 99, 100].map(share => percentile(times, share).toFixed(1)),
        String(refused),
        String(failed),
      ],
    );
  }

  #entry(what: string): Entry {
    const known = this.#entries.get(what) ?? createEntry();
    this.#entries.set(what, known);
    return known;
  }
}

/** What the columns of {@link RequestLog.rows} are. */
export const REQUEST_LOG_HEAD = [
  ...['request', 'answered', 'req/s', 'p50 ms', 'p95 ms', 'p99 ms'],
  ...['longest', 'refused', 'failed'],
];

function createEntry(): Entry {
  return { times: createHistogram(), refused: 0, failed: 0 };
}

function addTo(sum: Entry, entry: Entry): void {
  sum.times.add(entry.times);
  sum.refused += entry.refused;
  sum.failed += entry.failed;
}

function percentile(times: RecordableHistogram, share: number): number {
  return times.count === 0 ? 0 : times.percentile(share) / NANOSECONDS_PER_MS;
}

/**
 * Who asks. What users may read, the permission backend is asked for each request. The
 * user is an administrator, too.
 */
export type Caller = 'service' | 'user';

/** A client to be made. */
export type NewClient = Omit<LoadClientOptions, 'pool' | 'token'> & {
  caller: Caller;
};

/** Clients with a connection each, all of them of one pool. */
export function createClients(
  url: string,
  clients: Omit<LoadClientOptions, 'pool'>[],
): { clients: LoadClient[]; pool: Pool } {
  const pool = new Pool(url, {
    connections: clients.length,
    // One request at a time per connection, as browsers and proxies do it.
    pipelining: 1,
  });
  return {
    clients: clients.map(options => new LoadClient({ ...options, pool })),
    pool,
  };
}

/** The backend that is kept busy, in a process of its own. */
export class LoadServer {
  readonly #process: ServerProcess;
  readonly #tokens: Record<Caller, string>;
  readonly #pools: Pool[] = [];

  static async start(
    { connection }: BenchmarkContext,
    database: string,
    sizes: Pick<LoadBackendSettings, 'pool' | 'concurrency'> = {},
  ): Promise<LoadServer> {
    const settings: LoadBackendSettings = {
      connection: { ...connection, database },
      baseDomain: BASE_DOMAIN,
      ...sizes,
    };
    const process = await ServerProcess.start(
      require.resolve('./backend'),
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
  createClients(clients: NewClient[]): LoadClient[] {
    const created = createClients(
      this.url,
      clients.map(({ caller, ...options }) => ({
        ...options,
        token: this.#tokens[caller],
      })),
    );
    this.#pools.push(created.pool);
    return created.clients;
  }

  /** Where the backend listens. */
  get url(): string {
    return this.#process.url;
  }

  /** Of the process of the backend. */
  get pid(): number {
    return this.#process.pid;
  }

  /** How the event loop of the backend fares while something is under way. */
  watchEventLoop(work: () => Promise<void>): Promise<EventLoopDelay> {
    return this.#process.watchEventLoop(work);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#pools.map(pool => pool.close()));
    await this.#process.stop();
  }
}
