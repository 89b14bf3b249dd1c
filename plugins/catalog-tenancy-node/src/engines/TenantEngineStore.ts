import { CustomErrorBase } from '@backstage/errors';
import type { JsonObject } from '@backstage/types';
import { createHash } from 'node:crypto';

/**
 * The engine of a tenant. Every tenant has one except the default tenant, which the backend's
 * own catalog plugin feeds.
 *
 * @public
 */
export interface TenantEngineRecord {
  /** A UUID. */
  tenantId: string;
  /** The tenant's slug. */
  tenantSlug: string;
  /** Whether the tenant is active; the engine of a deleted one is stopped. */
  isActive: boolean;
  /** The configuration from the registry; secrets are references only. */
  catalogConfig?: JsonObject;
  /** When the configuration was last written. */
  configUpdatedAt?: Date;
  /** The user or service that wrote it. */
  configUpdatedBy?: string;
  /** When the engine was paused; absent if it is not. */
  pausedAt?: Date;
  /** The user or service that paused it. */
  pausedBy?: string;
}

/**
 * A hash of an engine's configuration, which changes only with the content.
 *
 * @public
 */
export function configRevisionOf({
  catalogConfig,
}: Pick<TenantEngineRecord, 'catalogConfig'>): string {
  // Keys are in the order of jsonb. The time of the last write does not identify a revision:
  // two writes may fall into the same millisecond.
  return createHash('sha256')
    .update(JSON.stringify(catalogConfig ?? null))
    .digest('base64url');
}

/**
 * The target of a write has changed since the caller read it. HTTP status 412.
 *
 * @public
 */
export class PreconditionFailedError extends CustomErrorBase {
  /** Identifies the error in serialized form. */
  name = 'PreconditionFailedError' as const;
  /** The status that Backstage answers with. */
  readonly statusCode = 412;
}

/**
 * The configuration of tenants' catalog engines. It checks no permissions.
 *
 * Changes take the administrator's path.
 *
 * @public
 */
export interface TenantEngineStore {
  /**
   * All records, including deleted tenants, ordered by slug. One statement.
   *
   * @param options - `tenantIds`: only these tenants
   */
  list(options?: { tenantIds?: string[] }): Promise<TenantEngineRecord[]>;

  /**
   * The record of an active tenant; undefined for the default tenant.
   *
   * @throws `NotFoundError` if there is no such tenant, or it is deleted
   */
  get(tenantSlug: string): Promise<TenantEngineRecord | undefined>;

  /**
   * Replaces the configuration of an active tenant's engine. Call
   * `TenantEngines.validateConfig` first: this method does not check the content.
   *
   * @param options - `by`: the user or service that makes the change; `ifRevisionIn`: the
   * required {@link configRevisionOf | revision} of the current configuration
   * @throws `InputError` for text that PostgreSQL cannot store; `NotFoundError` as in `get`;
   * `ConflictError` for the default tenant; `PreconditionFailedError` if the current revision
   * is not in `ifRevisionIn`
   */
  putConfig(
    tenantSlug: string,
    config: JsonObject,
    options: { by: string; ifRevisionIn?: readonly string[] },
  ): Promise<TenantEngineRecord>;

  /**
   * Pauses the engine of an active tenant in every process and across restarts: it ingests
   * nothing and starts no scheduled task until {@link TenantEngineStore.resume}. Running tasks
   * may finish; its routes and all reads continue.
   *
   * @param options - `by`: the user or service that pauses it
   * @returns the record; an existing pause stays unchanged
   * @throws `NotFoundError` and `ConflictError` as in `putConfig`
   */
  pause(
    tenantSlug: string,
    options: { by: string },
  ): Promise<TenantEngineRecord>;

  /**
   * Ends the pause of an engine, if there is one.
   *
   * @throws `NotFoundError` and `ConflictError` as in `putConfig`
   */
  resume(tenantSlug: string): Promise<TenantEngineRecord>;
}

/**
 * Notifies engine managers of changes.
 *
 * @public
 */
export interface TenantEngineChanges {
  /** As {@link TenantEngineStore.list}: it needs no rights of the administrator. */
  list(options?: { tenantIds?: string[] }): Promise<TenantEngineRecord[]>;

  /**
   * Calls a listener whenever the result of {@link TenantEngineChanges.list} may have changed:
   * after a tenant was created, changed, deleted or restored, and after an engine was
   * configured, paused or resumed, in any process. The call does not say what has changed, and
   * may come without a change.
   *
   * If this process cannot LISTEN, such as behind a transaction pooler, it polls every few
   * seconds. In any case it calls once a minute, for changes made by hand.
   *
   * @param listener - must not throw
   * @returns a function that removes the listener
   */
  onChange(listener: () => void): () => void;

  /** Calls all listeners of this process. Call it after a change of an engine. */
  changed(): void;

  /** Whether notifications of other processes are known to arrive. */
  readonly isListening: boolean;

  /**
   * Notifies all processes that the engine of a tenant may have work, such as after a request
   * to an engine whose background work runs in another process.
   */
  notifyWork(tenantId: string): Promise<void>;

  /**
   * Calls a listener with the id of a tenant whose engine may have work, for each notification
   * that arrives.
   *
   * @param listener - must not throw
   * @returns a function that removes the listener
   */
  onWork(listener: (tenantId: string) => void): () => void;
}
