import type { createBackend } from '@backstage/backend-defaults';
import type { ConfigReader } from '@backstage/config';
import { freePort, type PostgresConnection } from '@internal/postgres';
import type { Express } from 'express';
import { type ChildProcess, fork } from 'node:child_process';
import { on, once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** Where the servers of a benchmark listen. */
export const HOST = '127.0.0.1';

/** The user whom the guest's token names. */
export const USER = 'user:default/guest';

/** How many connections each pool of a backend may have to its database. */
export const POOL_SIZE = 10;

/** The schema of our tables, in the database of the catalog. */
export const SCHEMA = 'tenancy';

/** As whom our side reads the rows of tenants. */
export const APP_LOGIN = 'portal_app';

/** Of that login; the server is gone after the run. */
export const PASSWORD = 'only-for-benchmarks';

/** The token of a service that calls a backend, such as another backend. */
export const SERVICE_TOKEN = 'only-for-benchmarks';

/** Who that service is. */
export const SERVICE_SUBJECT = 'benchmark';

/** What a server is asked by the process that measures. */
const WATCH_EVENT_LOOP = 'watch the event loop';
const TELL_EVENT_LOOP = 'tell of the event loop';

/** For how long an event loop was held, in milliseconds. */
export interface EventLoopDelay {
  p99: number;
  longest: number;
}

/** How a server reaches its database. */
export type DatabaseConnection = PostgresConnection & { database: string };

/**
 * A server in a process of its own. The load comes from this process: in one
 * event loop with the server, each would wait for the other, and the server's
 * share of the work could not be told from that of the load.
 */
export class ServerProcess {
  readonly url: string;
  readonly #child: ChildProcess;

  /**
   * Starts a file that calls `serve`, and waits until it listens.
   *
   * @param settings - Goes to the server as it is, and must be plain JSON.
   */
  static async start(file: string, settings: object): Promise<ServerProcess> {
    // It runs with this process's own flags: the one that makes Node.js read
    // TypeScript, and --cpu-prof when somebody wants to see a profile.
    const child = fork(file, {
      // Logs are written, as in production, but to where that costs least.
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      env: { ...process.env, NODE_ENV: 'production', TZ: 'UTC' },
    });
    child.send(settings);
    const { url } = await tellingOf(child, 'url');
    return new ServerProcess(child, url as string);
  }

  private constructor(child: ChildProcess, url: string) {
    this.url = url;
    this.#child = child;
  }

  /** Of the process. */
  get pid(): number {
    return this.#child.pid!;
  }

  /** How its event loop fares while something is under way. */
  async watchEventLoop(work: () => Promise<void>): Promise<EventLoopDelay> {
    this.#child.send(WATCH_EVENT_LOOP);
    await work();
    const told = tellingOf(this.#child, 'eventLoop');
    this.#child.send(TELL_EVENT_LOOP);
    return (await told).eventLoop as EventLoopDelay;
  }

  async stop(): Promise<void> {
    if (this.#child.connected) {
      const exited = once(this.#child, 'exit');
      this.#child.disconnect();
      await exited;
    }
  }
}

/** The next message of a server that has this. */
async function tellingOf(
  child: ChildProcess,
  key: string,
): Promise<Record<string, unknown>> {
  // Backstage's loader of TypeScript sends messages of its own.
  for await (const [message] of on(child, 'message', { close: ['exit'] })) {
    if (message?.[key] !== undefined) {
      return message;
    }
  }
  throw new Error(
    `A server ended with ${child.exitCode} before it told ${key}`,
  );
}

/**
 * Waits for servers that are starting at the same time. If one does not start, the
 * others are stopped.
 */
export async function startTogether<T extends { stop(): Promise<void> }>(
  starting: Promise<T>[],
): Promise<T[]> {
  const outcomes = await Promise.allSettled(starting);
  const servers = outcomes.flatMap(outcome =>
    outcome.status === 'fulfilled' ? outcome.value : [],
  );
  const failed = outcomes.find(({ status }) => status === 'rejected');
  if (failed) {
    await Promise.all(servers.map(server => server.stop()));
    throw (failed as PromiseRejectedResult).reason;
  }
  return servers;
}

/**
 * What a file that `ServerProcess` starts calls.
 *
 * @param start - Gets the settings, and returns the URL at which it listens.
 */
export function serve<TSettings>(
  start: (settings: TSettings) => Promise<string>,
): void {
  // The channel closes when the parent ends, however that happens.
  process.once('disconnect', () => process.exit());
  process.once('message', (settings: TSettings) => {
    tellOfEventLoop();
    start(settings).then(
      url => process.send?.({ url }),
      error => {
        process.stderr.write(`${error.stack}\n`);
        process.exit(1);
      },
    );
  });
}

/** Measures while it is asked to: a timer each millisecond costs something. */
function tellOfEventLoop(): void {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  process.on('message', message => {
    if (message === WATCH_EVENT_LOOP) {
      delay.reset();
      delay.enable();
    } else if (message === TELL_EVENT_LOOP) {
      delay.disable();
      const eventLoop: EventLoopDelay = {
        p99: delay.percentile(99) / 1e6,
        longest: delay.max / 1e6,
      };
      process.send?.({ eventLoop });
    }
  });
}

/** Listens on a free port, and returns the URL. */
export async function listen(app: Express): Promise<string> {
  const server: Server = app.listen(0, HOST);
  await once(server, 'listening');
  return `http://${HOST}:${(server.address() as AddressInfo).port}`;
}

type Backend = ReturnType<typeof createBackend>;

/** What a file of configuration has. */
type Config = NonNullable<ConstructorParameters<typeof ConfigReader>[0]>;

/** A backend to be started, as it runs in production. */
interface BackendOptions {
  /** The plugin whose tables are in the database. The others have some of their own. */
  plugin: string;
  connection: DatabaseConnection;
  /** How many connections each plugin may have; as many as by default otherwise. */
  poolSize?: number;
  /** Who may call it with a token that does not change. */
  service?: { token: string; subject: string };
  /** Which user a guest is, where guests may sign in. */
  guest?: string;
  /** What the plugins are to do, beyond all that. */
  config: Config;
  features: Array<Parameters<Backend['add']>[0]>;
}

/**
 * Starts a Backstage backend, and returns its URL. It is configured by this alone,
 * whatever files and variables there are.
 */
export async function startBackend(options: BackendOptions): Promise<string> {
  // Loaded here: the process that measures starts no backend itself.
  const [{ createBackend }, { coreServices, createServiceFactory }, config] =
    await Promise.all([
      import('@backstage/backend-defaults'),
      import('@backstage/backend-plugin-api'),
      import('@backstage/config'),
    ]);
  // Backstage verifies tokens by way of its own URL, and so must know its port before
  // it listens.
  const port = await freePort(HOST);
  const url = `http://${HOST}:${port}`;
  const backend = createBackend();
  backend.add(
    createServiceFactory({
      service: coreServices.rootConfig,
      deps: {},
      factory: () =>
        new config.ConfigReader({
          backend: {
            baseUrl: url,
            listen: { host: HOST, port },
            ...servicesOf(options),
          },
          ...(options.guest && { auth: guestAs(options.guest) }),
          ...options.config,
          app: { ...(options.config.app as Config), baseUrl: url },
        }),
    }),
  );
  if (options.guest) {
    backend.add(import('@backstage/plugin-auth-backend'));
    backend.add(import('@backstage/plugin-auth-backend-module-guest-provider'));
  }
  for (const feature of options.features) {
    backend.add(feature);
  }
  await backend.start();
  return url;
}

function servicesOf({
  plugin,
  connection,
  poolSize,
  service,
}: BackendOptions): Config {
  const { database } = connection;
  return {
    ...(service && {
      auth: {
        externalAccess: [
          {
            type: 'static',
            options: { token: service.token, subject: service.subject },
          },
        ],
      },
    }),
    database: {
      client: 'pg',
      connection: { ...connection },
      prefix: `${database}_`,
      ...(poolSize && { knexConfig: { pool: { min: 0, max: poolSize } } }),
      plugin: { [plugin]: { connection: { database } } },
    },
  };
}

function guestAs(userEntityRef: string): Config {
  return {
    providers: {
      guest: { userEntityRef, dangerouslyAllowOutsideDevelopment: true },
    },
  };
}

/** The token of somebody who signs in at a backend as a guest. */
export async function tokenOfGuest(url: string): Promise<string> {
  const response = await fetch(`${url}/api/auth/guest/refresh`);
  const { backstageIdentity } = await response.json();
  return backstageIdentity.token;
}
