import type { JsonObject } from '@backstage/types';
import { createHash } from 'node:crypto';
import type { RegistryChange } from '../tenants/ChangeListener';

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
   * configured, paused or resumed, in any process. The call may come without a change.
   *
   * If this process cannot LISTEN, such as behind a transaction pooler, it polls every few
   * seconds. In any case it calls once a minute, for changes made by hand.
   *
   * @param listener - gets no change if others may have been missed; must not throw
   * @returns a function that removes the listener
   */
  onChange(listener: (change?: RegistryChange) => void): () => void;

  /** Calls all listeners of this process. Call it after a change of an engine. */
  changed(change?: RegistryChange): void;

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
