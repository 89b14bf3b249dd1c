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
   * Calls a listener whenever the result of {@link TenantLeases.isHeld} may have changed.
   *
   * @param listener - must not throw
   * @returns a function that removes the listener
   */
  onChange(listener: () => void): () => void;

  /**
   * Adds a hook that runs before this process gives a lease up for another process. The lease
   * is held until all hooks have resolved, unless it is lost meanwhile.
   *
   * @param hook - must not reject
   * @returns a function that removes the hook
   */
  beforeRelease(hook: (tenantId: string) => Promise<void>): () => void;
}
