/**
 * Which tenants' background work this process does. The tenants of a deployment are divided
 * among its processes: each has at most one process that holds its lease.
 */
export interface TenantLeases {
  /**
   * Whether this process holds the lease of a tenant at this moment, by its own monotonic
   * clock: `false` as soon as another process may have taken it.
   */
  isHeld(tenantId: string): boolean;

  /**
   * Calls a listener whenever {@link TenantLeases.isHeld} may answer otherwise than before.
   *
   * @param listener - must not throw
   * @returns what ends the calls
   */
  onChange(listener: () => void): () => void;

  /**
   * Adds what has to end before this process gives a lease up for another one. The lease is
   * held until all hooks have resolved, or is lost meanwhile.
   *
   * @param hook - must not reject
   * @returns what removes it
   */
  beforeRelease(hook: (tenantId: string) => Promise<void>): () => void;
}
