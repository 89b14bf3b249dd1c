import type { Entity } from '@backstage/catalog-model';
import type { JsonObject } from '@backstage/types';
import type { RequestHandler } from 'express';
import type { ActiveTenant } from '../tenants/TenantDirectory';

/**
 * What an engine of a tenant does at the moment.
 *
 * @public
 */
export interface TenantEngineStatus {
  /**
   * - `stopped`: this process does not run it
   * - `starting`: its tables and its modules are being made ready
   * - `running`: it ingests, and answers requests
   * - `failed`: it could not start, or lost its tables; it is tried again later
   */
  state: 'stopped' | 'starting' | 'running' | 'failed';
  /** Why it failed, without secrets and without SQL. */
  reason?: string;
  /** When a failed engine is started again. */
  nextAttemptAt?: Date;
}

/**
 * What the processes of a deployment know of the engine of a tenant, whichever of them answers.
 *
 * @public
 */
export interface TenantEngineReport {
  /**
   * - `unassigned`: no live process has the lease of the tenant
   * - otherwise as in {@link TenantEngineStatus}, in the process that has it
   */
  state: TenantEngineStatus['state'] | 'unassigned';
  /** Why it failed, without secrets and without SQL. */
  reason?: string;
  /** Why it failed last, also where it has started since. */
  lastError?: string;
  /** When that was. */
  lastErrorAt?: Date;
  /** When it last had nothing left that was due. */
  caughtUpAt?: Date;
  /** Since when its oldest entity waits to be processed or stitched; nothing if none does. */
  oldestDueAt?: Date;
  /** For how long that one waits; nothing where the engine has no tables. */
  lagSeconds?: number;
  /** The process that does the background work of the tenant. */
  process?: {
    /** For people: host and process id. */
    name: string;
    /** When others may take the lease, unless the process renews it. */
    leaseExpiresAt: Date;
  };
  /** Rows of the engine that could not be carried to the entities of the tenant. */
  faults: number;
  /** Locations and entities with errors; nothing where counting them takes too long. */
  sourceErrorCount?: number;
  /** The first 20 of them; in the report on a single tenant. */
  sourceErrors?: SourceError[];
}

/**
 * Why a location could not be read, or an entity of it is not valid.
 *
 * @public
 */
export interface SourceError {
  /** The target of the location, such as a URL, as it was configured or registered. */
  location: string;
  /** What has the error: an entity of the location, or the location itself. */
  entityRef: string;
  /** Of the processing of the catalog, without secrets. */
  message: string;
  /** When the catalog tries again. */
  nextTryAt: Date;
}

/**
 * An entity that is handed to an engine, as Backstage's `DeferredEntity`.
 *
 * @public
 */
export interface ProvidedEntity {
  /** As in a catalog-info file: the engine processes it. */
  entity: Entity;
  /** Which of two sources keeps an entity that both have. */
  locationKey?: string;
}

/**
 * A change to what a source hands to the engine of a tenant: Backstage's
 * `EntityProviderMutation`, with its semantics.
 *
 * @public
 */
export type TenantMutation = {
  /** One of the `sources` of `tenantEngines`; `code` by default. */
  source?: string;
} & (
  | {
      /** The source has exactly these entities. */
      type: 'full';
      entities: ProvidedEntity[];
    }
  | {
      /** Some entities of the source have changed; all others stay as they are. */
      type: 'delta';
      added: ProvidedEntity[];
      removed: ({ entityRef: string; locationKey?: string } | ProvidedEntity)[];
    }
);

/**
 * The catalog engines of this backend's tenants: one unmodified catalog plugin for each.
 *
 * @public
 */
export interface TenantEngines {
  /** Whether this backend has engines for tenants. Without them the rest must not be used. */
  readonly isAvailable: boolean;

  /** The version of `@backstage/plugin-catalog-backend` that engines run with in this process. */
  readonly catalogVersion?: string;

  /**
   * Answers the requests that the engine of their tenant is for: all routes of the catalog
   * but its reads of entities. The requests have passed the gate.
   */
  readonly handler: RequestHandler;

  /**
   * Hands entities to an entity provider of a tenant's engine, in any process. It resolves when
   * the engine has stored them, in one transaction; they are served once it has processed them.
   *
   * Entities that do not say where they come from get the location `code:<source>`.
   *
   * @throws `InputError` for what is no entity, and for a source that the backend does not
   * name; `NotFoundError` if there is no such active tenant; `ConflictError` for the default
   * tenant; `ServiceUnavailableError` while the engine does not run
   */
  applyMutation(tenantId: string, mutation: TenantMutation): Promise<void>;

  /**
   * Resolves when all entities of a mutation are served as it has them. One that can't be
   * processed, or exceeds `max_entities`, never is: end the wait by a signal, and see
   * {@link TenantEngines.report}.
   */
  served(
    tenantId: string,
    mutation: TenantMutation,
    options?: { signal?: AbortSignal },
  ): Promise<void>;

  /**
   * Checks the configuration that a tenant wants for its engine.
   *
   * @throws `InputError` that names the property and the expected form
   */
  validateConfig(tenant: ActiveTenant, config: JsonObject): Promise<void>;

  /** Whether the operator configures this tenant's engine in app-config. */
  isConfiguredByOperator(tenantSlug: string): boolean;

  /** What the engine of a tenant does in this process. */
  statusOf(tenantId: string): TenantEngineStatus;

  /**
   * What the engine of a tenant does in whichever process does its background work, by the
   * database at this moment. It wakes no idle engine.
   *
   * @throws `ServiceUnavailableError` where the database does not answer
   */
  report(tenantId: string): Promise<TenantEngineReport>;

  /** The same of several tenants at once, by their ids. */
  reports(tenantIds: string[]): Promise<Map<string, TenantEngineReport>>;
}

/** What a backend has without the package that provides engines. */
export const NO_TENANT_ENGINES: TenantEngines = {
  isAvailable: false,
  handler: (_req, _res, next) => next(missing()),
  applyMutation: async () => {
    throw missing();
  },
  served: async () => {
    throw missing();
  },
  validateConfig: async () => {
    throw missing();
  },
  isConfiguredByOperator: () => false,
  statusOf: () => ({ state: 'stopped' }),
  report: async () => {
    throw missing();
  },
  reports: async () => {
    throw missing();
  },
};

function missing(): Error {
  return new Error(
    'This backend has no catalog engines for tenants. Expected it to have backstage-plugin-catalog-backend-module-tenant-engines',
  );
}
