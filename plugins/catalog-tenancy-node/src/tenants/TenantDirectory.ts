/**
 * An active tenant, as a request needs it.
 *
 * @public
 */
export interface ActiveTenant {
  /** A UUID: what the tenant's rows are marked with. */
  tenantId: string;
  /** What requests call the tenant. */
  tenantSlug: string;
  /** Whether nothing of it may be changed at the moment, as it moves to another deployment. */
  isReadOnly?: boolean;
}

/**
 * Finds the tenant of a request.
 *
 * @public
 */
export interface TenantDirectory {
  /**
   * The tenant with this slug, unless it is deleted or was never there.
   *
   * Answers are remembered for some seconds, but only while this process is known
   * to hear of changes that others make: a tenant that was deleted through any
   * backend's registry stops resolving at once.
   *
   * @throws {@link DatabaseUnavailableError} if there is no connection in time
   */
  findActive(tenantSlug: string): Promise<ActiveTenant | undefined>;

  /**
   * Makes the next look-up of this slug ask the database. Code that changes the
   * registry calls it after the change.
   */
  forget(tenantSlug: string): void;
}
