import type { RateLimits } from '../config/readTenancyConfig';

/**
 * What the registry lets one tenant have, in place of what is configured for all.
 *
 * @public
 */
export interface OwnLimits {
  /** As `concurrency` of {@link OperationLimits}; the configured one without it. */
  concurrency?: number;
  /** How many requests it may send; the configured limit without it. */
  rate?: RateLimits;
}

/**
 * The tenants to which the registry gives limits of their own, as this process knows them.
 *
 * @public
 */
export class TenantLimits {
  readonly #own = new Map<string, OwnLimits>();
  readonly #listeners = new Set<() => void>();

  /**
   * The limits of a tenant; nothing where the configured ones hold.
   *
   * @param tenantId - in lower case
   */
  of(tenantId: string): OwnLimits | undefined {
    return this.#own.get(tenantId);
  }

  /** Sets the limits of one tenant, or takes them away. */
  set(tenantId: string, limits: OwnLimits | undefined): void {
    if (limits) {
      this.#own.set(tenantId, limits);
    } else {
      this.#own.delete(tenantId);
    }
    this.#changed();
  }

  /** Sets the limits of all tenants: others have none of their own. */
  replace(limits: ReadonlyMap<string, OwnLimits>): void {
    this.#own.clear();
    limits.forEach((each, tenantId) => this.#own.set(tenantId, each));
    this.#changed();
  }

  /**
   * Calls a listener after each change.
   *
   * @returns what ends that
   */
  onChange(listener: () => void): () => void {
    // The same function may listen twice.
    const own = () => listener();
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }

  #changed(): void {
    this.#listeners.forEach(each => each());
  }
}
