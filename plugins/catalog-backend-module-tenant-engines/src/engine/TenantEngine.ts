import {
  type Backend,
  createSpecializedBackend,
} from '@backstage/backend-app-api';
import {
  type BackendFeature,
  type RootConfigService,
  type RootLoggerService,
} from '@backstage/backend-plugin-api';
import catalogPlugin from '@backstage/plugin-catalog-backend';
import type { ActiveTenant } from 'backstage-plugin-catalog-tenancy-node';
import { Router } from 'express';
import type { SchemaDatabase } from '../pool/EnginePool';
import type { BackgroundWork } from '../work/BackgroundWork';
import { type CatalogServices, createServices } from './services';

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
  /** Modules of the plugin `catalog`, and factories of services. */
  features: EngineFeature[];
  logger: RootLoggerService;
  services: CatalogServices;
  work: BackgroundWork;
}

const GLOBAL_EVENTS = ['unhandledRejection', 'uncaughtException'] as const;

/**
 * An unmodified catalog plugin with its modules, which works for one tenant: a Backstage
 * backend within the backend, without a server, whose tables are those of one schema.
 */
export class TenantEngine {
  /** The routes of the catalog plugin and of the modules. */
  readonly router = Router();
  readonly #backend: Backend;
  readonly #database: SchemaDatabase;
  readonly #stopping = new AbortController();

  /**
   * Starts the modules and the plugin, which ingests from then on. A module that does not
   * come to the end of its start has until the signal to do so.
   *
   * @throws what a module or the plugin throws, or the reason of the signal
   */
  static async start(
    options: TenantEngineOptions & { signal: AbortSignal },
  ): Promise<TenantEngine> {
    const { signal } = options;
    signal.throwIfAborted();
    const engine = new TenantEngine(options);
    const listeners = GLOBAL_EVENTS.map(
      event => new Set(process.listeners(event)),
    );
    try {
      await Promise.race([
        options.work.start(() => engine.#backend.start()),
        rejectionOf(signal),
      ]);
      return engine;
    } catch (error) {
      // Not awaited: it first waits for the end of the start, which may not come.
      engine.stop().catch(() => undefined);
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
    const { config, database, features, logger, services, tenant, work } =
      options;
    this.#database = database;
    this.#backend = createSpecializedBackend({
      defaultServiceFactories: createServices({
        tenant,
        config,
        knex: database.knex,
        logger,
        mount: handler => this.router.use(handler),
        outer: services,
        signal: this.#stopping.signal,
        work,
      }),
    });
    this.#backend.add(catalogPlugin);
    features.forEach(feature => this.#backend.add(feature));
  }

  /**
   * Ends what the engine has started. Nothing of it gets a connection from then on, even
   * if a module goes on.
   */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#database.close();
    await this.#backend.stop();
  }
}

function rejectionOf(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), {
      once: true,
    });
  });
}
