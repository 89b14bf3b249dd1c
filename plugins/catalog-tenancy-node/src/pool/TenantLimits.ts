import type { RateLimits } from '../config/readTenancyConfig';

/**
 * Limits of one tenant in the registry, which override the configured ones.
 *
 * @public
 */
export interface OwnLimits {
  /** As `concurrency` of {@link OperationLimits}; the configured value if absent. */
  concurrency?: number;
  /** The limits of requests; the configured ones if absent. */
  rate?: RateLimits;
}

/**
 * The limits of single tenants in the registry, as this process knows them.
 *
 * @public
 */
export class TenantLimits {
  readonly #own = new Map<string, OwnLimits>();
  readonly #listeners = new Set<() => void>();

  /**
   * The limits of a tenant; undefined if the configured ones apply.
   *
   * @param tenantId - in lower case
   */
  of(tenantId: string): OwnLimits | undefined {
    return this.#own.get(tenantId);
  }

  /** Sets or removes the limits of one tenant. */
  set(tenantId: string, limits: OwnLimits | undefined): void {
    if (limits) {
      this.#own.set(tenantId, limits);
    } else {
      this.#own.delete(tenantId);
    }
    this.#changed();
  }

  /** Replaces the limits of all tenants. */
  replace(limits: ReadonlyMap<string, OwnLimits>): void {
    this.#own.clear();
    limits.forEach((each, tenantId) => this.#own.set(tenantId, each));
    this.#changed();
  }

  /**
   * Calls a listener after each change.
   *
   * @returns a function that removes the listener
   */
  onChange(listener: () => void): () => void {
    // The same function may be added twice.
    const own = () => listener();
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }

  #changed(): void {
    this.#listeners.forEach(each => each());
  }
}
