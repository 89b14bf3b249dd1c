import type { Entity } from '@backstage/catalog-model';
import { NotAllowedError } from '@backstage/errors';
import type { JsonObject } from '@backstage/types';
import type { TenantStatus } from 'backstage-plugin-tenants-common';
import type { RequestHandler } from 'express';
import type { ActiveTenant } from '../tenants/TenantDirectory';
import { tenantOf } from '../tenants/TenantGate';

/**
 * The state of a tenant's engine.
 *
 * @public
 */
export interface TenantEngineStatus {
  /**
   * - `stopped`: the engine does not run in this process
   * - `starting`: its tables and modules are being prepared
   * - `running`: it ingests and answers requests
   * - `failed`: it could not start, or lost its tables; it is restarted later
   */
  state: 'stopped' | 'starting' | 'running' | 'failed';
  /** Why it failed, without secrets and without SQL. */
  reason?: string;
  /** When a failed engine is started again. */
  nextAttemptAt?: Date;
}

/**
 * The state of a tenant's engine across all processes, as the API shows it.
 *
 * @public
 */
export type TenantEngineReport = Partial<
  Pick<
    TenantStatus,
    | 'reason'
    | 'faults'
    | 'lag_seconds'
    | 'oldest_due_at'
    | 'source_errors'
    | 'source_error_count'
    | 'last_error'
    | 'last_error_at'
    | 'last_full_run_at'
    | 'process'
    | 'lease_expires_at'
  >
> & {
  /**
   * - `unassigned`: no live process holds the lease of the tenant
   * - otherwise as in {@link TenantEngineStatus}, in the process that holds it
   */
  state: TenantEngineStatus['state'] | 'unassigned';
};

/**
 * An entity for an engine, as Backstage's `DeferredEntity`.
 *
 * @public
 */
export interface ProvidedEntity {
  /** The unprocessed entity, as in a catalog-info file. */
  entity: Entity;
  /** Decides which of two sources owns an entity that both provide. */
  locationKey?: string;
}

/**
 * A change to the entities that a source provides to a tenant's engine, with the semantics of
 * Backstage's `EntityProviderMutation`.
 *
 * @public
 */
export type TenantMutation = {
  /** One of the `sources` of `tenantEngines`; `code` by default. */
  source?: string;
} & (
  | {
      /** Replaces all entities of the source. */
      type: 'full';
      entities: ProvidedEntity[];
    }
  | {
      /** Changes some entities of the source. */
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
  /** Whether this backend has engines for tenants. If not, other methods throw. */
  readonly isAvailable: boolean;

  /** The version of `@backstage/plugin-catalog-backend` of the engines in this process. */
  readonly catalogVersion?: string;

  /**
   * Answers requests by the engine of their tenant: all routes of the catalog except reads of
   * entities. The requests have passed the gate.
   */
  readonly handler: RequestHandler;

  /**
   * Passes entities to an entity provider of a tenant's engine, in any process. Resolves when
   * the engine has stored them in one transaction; they are served after processing.
   *
   * Entities without a location annotation get the location `code:<source>`.
   *
   * @throws `InputError` for an invalid entity or an unknown source; `NotFoundError` if there
   * is no such active tenant; `ConflictError` for the default tenant; `ServiceUnavailableError`
   * while the engine does not run
   */
  applyMutation(tenantId: string, mutation: TenantMutation): Promise<void>;

  /**
   * Resolves when all entities of a mutation are served. An entity that cannot be processed, or
   * exceeds `max_entities`, is never served: end the wait by a signal, and see {@link
   * TenantEngines.report}.
   */
  served(
    tenantId: string,
    mutation: TenantMutation,
    options?: { signal?: AbortSignal },
  ): Promise<void>;

  /**
   * Validates the configuration of a tenant's engine.
   *
   * @throws `InputError` that names the property and the expected form
   */
  validateConfig(tenant: ActiveTenant, config: JsonObject): Promise<void>;

  /** Whether the operator configures this tenant's engine in app-config. */
  isConfiguredByOperator(tenantSlug: string): boolean;

  /** The state of a tenant's engine in this process. */
  statusOf(tenantId: string): TenantEngineStatus;

  /**
   * The state of a tenant's engine in the process that runs its background work, read from the
   * database. Does not wake an idle engine.
   *
   * @throws `ServiceUnavailableError` if the database does not answer
   */
  report(tenantId: string): Promise<TenantEngineReport>;

  /**
   * The reports of several tenants, by id, by one statement: without what only the tables of each
   * engine tell, its lag and the errors of its sources.
   */
  reports(tenantIds: string[]): Promise<Map<string, TenantEngineReport>>;

  /**
   * The numbers of locations and entities with errors, by tenant. Counts for two seconds, small
   * engines first; `null` for those that are not counted by then.
   */
  countSourceErrors(tenantIds: string[]): Promise<Map<string, number | null>>;
}

/**
 * The service in a backend without the package that provides engines: only the default tenant
 * has routes beside the reads of entities.
 */
export const NO_TENANT_ENGINES: TenantEngines = {
  isAvailable: false,
  handler: (req, _res, next) =>
    next(
      new NotAllowedError(
        `${req.method} ${req.path} is not available to the tenant '${
          tenantOf(req).tenantSlug
        }': the backend has no catalog engines for tenants`,
      ),
    ),
  applyMutation: refuse,
  served: refuse,
  validateConfig: refuse,
  isConfiguredByOperator: () => false,
  statusOf: () => ({ state: 'stopped' }),
  report: refuse,
  reports: refuse,
  countSourceErrors: refuse,
};

async function refuse(): Promise<never> {
  throw new Error(
    'This backend has no catalog engines for tenants. Add backstage-plugin-catalog-backend-module-tenant-engines to it',
  );
}
