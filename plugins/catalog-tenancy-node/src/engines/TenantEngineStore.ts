import { CustomErrorBase } from '@backstage/errors';
import type { JsonObject } from '@backstage/types';
import { createHash } from 'node:crypto';

/**
 * The engine of a tenant: each has one but the default tenant, which the catalog plugin of the
 * backend feeds.
 *
 * @public
 */
export interface TenantEngineRecord {
  /** A UUID. */
  tenantId: string;
  /** By which people know the tenant. */
  tenantSlug: string;
  /** Whether the tenant is active; the engine of a deleted one is stopped. */
  isActive: boolean;
  /** The configuration from the registry; secrets are references only. */
  catalogConfig?: JsonObject;
  /** When the configuration was last written. */
  configUpdatedAt?: Date;
  /** The user or service that wrote it. */
  configUpdatedBy?: string;
  /** Since when the engine ingests nothing and runs no scheduled task, if it is paused. */
  pausedAt?: Date;
  /** The user or service that paused it. */
  pausedBy?: string;
}

/**
 * Names what the configuration of an engine holds: it changes with the content, and with
 * nothing else.
 *
 * @public
 */
export function configRevisionOf({
  catalogConfig,
}: Pick<TenantEngineRecord, 'catalogConfig'>): string {
  // As PostgreSQL keeps it (jsonb), which orders the keys. The time of the last write would
  // not do: two writes may have the same in the precision that a Date has.
  return createHash('sha256')
    .update(JSON.stringify(catalogConfig ?? null))
    .digest('base64url');
}

/**
 * What is to be written is no longer in the state that the caller has read. Over HTTP it becomes
 * status 412.
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
 * How the catalog engines of tenants are configured. It asks no permissions.
 *
 * What changes them takes the administrator's path.
 *
 * @public
 */
export interface TenantEngineStore {
  /**
   * All records, of deleted tenants too, ordered by slug. It is one statement.
   *
   * @param options - with `tenantIds`, the records of these tenants alone
   */
  list(options?: { tenantIds?: string[] }): Promise<TenantEngineRecord[]>;

  /**
   * The record of an active tenant; nothing for the default tenant.
   *
   * @throws `NotFoundError` if there is no such tenant, or it is deleted
   */
  get(tenantSlug: string): Promise<TenantEngineRecord | undefined>;

  /**
   * Replaces the configuration of an active tenant's engine. It stores what it is given:
   * `TenantEngines.validateConfig` checks it before.
   *
   * @param options - `by` is the user or service that does it; with `ifRevisionIn`, the
   * {@link configRevisionOf | revision} of the configuration has to be one of these
   * @throws `InputError` for what PostgreSQL can't store; `NotFoundError` as in `get`;
   * `ConflictError` for the default tenant; `PreconditionFailedError` if the configuration has another revision, which keeps it
   */
  putConfig(
    tenantSlug: string,
    config: JsonObject,
    options: { by: string; ifRevisionIn?: readonly string[] },
  ): Promise<TenantEngineRecord>;

  /**
   * Pauses the engine of an active tenant, in every process and across restarts: it ingests
   * nothing and runs no scheduled task until {@link TenantEngineStore.resume}. What is under
   * way may end. Its routes and all reads go on.
   *
   * @param options - `by` is the user or service that does it
   * @returns the record; a pause that is there already stays as it is
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
 * The engines of tenants, for what runs them.
 *
 * @public
 */
export interface TenantEngineChanges {
  /** As {@link TenantEngineStore.list}: it needs no rights of the administrator. */
  list(options?: { tenantIds?: string[] }): Promise<TenantEngineRecord[]>;

  /**
   * Calls a listener whenever {@link TenantEngineChanges.list} may answer otherwise than
   * before: after a tenant was created, changed, deleted or restored, and after an engine was
   * configured, paused or resumed, in any process. The call says nothing
   * about what has changed, and may come without a change.
   *
   * While this process can't hear of changes, as behind a pooler of transactions, it calls
   * every few seconds; and each minute at any rate, for changes by hand.
   *
   * @param listener - must not throw
   * @returns what ends the calls
   */
  onChange(listener: () => void): () => void;

  /** Calls all listeners of this process. Code that changes engines does it after the change. */
  changed(): void;

  /** Whether this process is known to hear of what other processes do. */
  readonly hears: boolean;

  /**
   * Tells all processes that the engine of a tenant may have work, such as after a request to
   * an engine whose background work another process does.
   */
  notifyWork(tenantId: string): Promise<void>;

  /**
   * Calls a listener with the id of a tenant whose engine may have work, as far as this process
   * hears of it.
   *
   * @param listener - must not throw
   * @returns what ends the calls
   */
  onWork(listener: (tenantId: string) => void): () => void;
}
