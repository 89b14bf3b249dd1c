import {
  type Backend,
  createSpecializedBackend,
} from '@backstage/backend-app-api';
import {
  type BackendFeature,
  type HttpRouterServiceWebSocketHandler,
  type LoggerService,
  type RootConfigService,
  type RootLoggerService,
} from '@backstage/backend-plugin-api';
import type {
  ActiveTenant,
  TenantUpgradeHandler,
} from 'backstage-plugin-catalog-tenancy-node';
import { Router } from 'express';
import type { Duplex } from 'node:stream';
import type { CodeSources } from '../code/CodeSources';
import type { SchemaDatabase } from '../work/EnginePool';
import type { TenantEvents } from '../plugins/TenantEvents';
import type { WithinReach } from '../reach/Reach';
import type { BackgroundWork } from '../work/BackgroundWork';
import { rejectionOf } from '../work/rejectionOf';
import { decorate } from './decorate';
import { createServices, type PluginServices } from './services';

/**
 * A feature, or the import of a package whose default export is one.
 *
 * @public
 */
export type EngineFeature =
  | BackendFeature
  | Promise<{ default: BackendFeature }>;

interface TenantEngineOptions {
  tenant: ActiveTenant;
  config: RootConfigService;
  database: SchemaDatabase;
  /** Those of the other plugins of the tenant. */
  events: TenantEvents;
  /** A plugin, its modules, and factories of services. */
  features: EngineFeature[];
  logger: RootLoggerService;
  /** The services of the same plugin in the outer backend. */
  services: PluginServices;
  work: BackgroundWork;
  /** The hosts to which background work may connect; all by default. */
  within?: WithinReach;
  /**
   * Which work is background work: all work without a request, or, for a plugin made for
   * several replicas of a backend, only the runs of scheduled tasks.
   */
  background?: 'everything' | 'scheduled tasks';
  /** Whether the plugin creates and upgrades its tables itself. */
  migrates?: boolean;
  /** The providers through which code passes entities to a catalog plugin. */
  sources?: CodeSources;
}

export interface StopOptions {
  mayFinish?: boolean;
}

const GLOBAL_EVENTS = ['unhandledRejection', 'uncaughtException'] as const;

/**
 * An unmodified plugin with its modules, which works for one tenant: a Backstage backend within
 * the backend, without a server, whose tables are those of one schema. With the catalog plugin
 * it is the engine of the tenant.
 */
export class TenantEngine {
  /** The routes of the plugin and of its modules. */
  readonly router = Router();
  /** The providers that code hands entities to; those of a catalog plugin. */
  readonly sources?: CodeSources;
  readonly #backend: Backend;
  readonly #database: SchemaDatabase;
  /** The WebSockets of the plugin, by their path below that of the plugin. */
  readonly #upgrades = new Map<string, HttpRouterServiceWebSocketHandler>();
  readonly #sockets = new Set<Duplex>();
  readonly #stopping = new AbortController();
  #hasTasks = false;

  /**
   * Starts the modules and the plugin, until the signal aborts. Closes the database where it
   * fails.
   *
   * @throws what a module or the plugin throws, or the reason of the signal
   */
  static async start(
    options: TenantEngineOptions & { signal: AbortSignal },
  ): Promise<TenantEngine> {
    const { background = 'everything', signal, work } = options;
    const { within = start => start() } = options;
    let engine: TenantEngine | undefined;
    const listeners = GLOBAL_EVENTS.map(
      event => new Set(process.listeners(event)),
    );
    try {
      signal.throwIfAborted();
      engine = new TenantEngine(options);
      const backend = engine.#backend;
      await Promise.race([
        background === 'everything'
          ? work.start(() => within(() => backend.start()))
          : backend.start(),
        rejectionOf(signal),
      ]);
      return engine;
    } catch (error) {
      options.database.close();
      // Not awaited: it first waits for the end of the start, which may never come.
      engine?.stop().catch(() => undefined);
      throw error;
    } finally {
      // The backend around this one has such listeners: each of these would log every
      // error once more.
      GLOBAL_EVENTS.forEach((event, index) =>
        process
          .listeners(event)
          .filter(listener => !listeners[index].has(listener))
          .forEach(listener => process.off(event, listener)),
      );
    }
  }

  private constructor(options: TenantEngineOptions) {
    const { config, database, events, features, logger, services } = options;
    const { tenant, work } = options;
    const { migrates = false, sources, within } = options;
    this.sources = sources;
    this.#database = database;
    this.#backend = createSpecializedBackend({
      defaultServiceFactories: createServices({
        tenant,
        config,
        knex: database.knex,
        logger,
        migrates,
        mount: handler => this.router.use(handler),
        mountUpgrade: upgrade => this.#upgrades.set(upgrade.path, upgrade),
        onTask: () => {
          this.#hasTasks = true;
        },
        outer: services,
        signal: this.#stopping.signal,
        within,
        work,
      }),
    });
    [
      ...features,
      events.featureOf(tenant.tenantId, this.#stopping.signal),
      ...(sources ? [sources.feature] : []),
    ].forEach(feature => this.#backend.add(feature));
  }

  /** The handler of WebSockets at a path of the plugin. The engine closes them when it stops. */
  upgradeAt(path: string): TenantUpgradeHandler | undefined {
    const upgrade = this.#upgrades.get(path);
    return (
      upgrade &&
      (context => {
        const { socket } = context;
        this.#stopping.signal.throwIfAborted();
        this.#sockets.add(socket);
        socket.once('close', () => this.#sockets.delete(socket));
        return upgrade.handler(context);
      })
    );
  }

  /** Whether its modules have scheduled tasks, which run while it does. */
  get hasTasks(): boolean {
    return this.#hasTasks;
  }

  /** Whether a WebSocket of it is open. */
  get hasSockets(): boolean {
    return this.#sockets.size > 0;
  }

  /**
   * Stops the engine. From then on it gets no connection, even if a module continues.
   *
   * @param options - `mayFinish`: it has connections until the plugin has shut down, which may
   * wait for running templates
   */
  async stop(options?: StopOptions): Promise<void> {
    this.#stopping.abort();
    this.#sockets.forEach(socket => socket.destroy());
    try {
      if (options?.mayFinish) {
        await this.#backend.stop();
      }
    } finally {
      this.#database.close();
    }
    await this.#backend.stop();
  }
}

/**
 * Leaves out the messages of a backend about its start: hundreds of engines would repeat them.
 */
export function quiet(logger: LoggerService): RootLoggerService {
  return decorate<RootLoggerService>(logger, {
    info: (message, meta) => logger.debug(message, meta),
    child: meta =>
      meta.type === 'initialization'
        ? quiet(logger.child(meta))
        : // The plugin's own messages.
          logger.child(meta),
  });
}
