/**
 * An active tenant.
 *
 * @public
 */
export interface ActiveTenant {
  /** A UUID: the `tenant_id` of the tenant's rows. */
  tenantId: string;
  /** The slug by which requests name the tenant. */
  tenantSlug: string;
  /** Whether the tenant is read-only, because it moves to another deployment. */
  isReadOnly?: boolean;
}

/**
 * Finds the tenant of a request.
 *
 * @public
 */
export interface TenantDirectory {
  /**
   * The active tenant with this slug, if any.
   *
   * Results are cached for some seconds, but only while this process receives notifications of
   * changes: a tenant that any backend deletes stops resolving at once.
   *
   * @throws {@link DatabaseUnavailableError} if there is no connection in time
   */
  findActive(tenantSlug: string): Promise<ActiveTenant | undefined>;

  /**
   * Drops the cached result of this slug. Call it after a change of the registry.
   */
  forget(tenantSlug: string): void;
}
