import type {
  CreateTenant,
  ListTenants,
  Tenant,
  TenantUsage,
  UpdateTenant,
} from 'backstage-plugin-tenants-common';

export type { CreateTenant, ListTenants, UpdateTenant };

/**
 * The registry of tenants (specification B.1). It checks no permissions.
 *
 * Changes take the administrator's path.
 *
 * @public
 */
export interface TenantStore {
  /**
   * A page of the registry, ordered by slug, and the total number of tenants.
   *
   * @throws `InputError` for what is out of bounds
   */
  list(options?: ListTenants): Promise<{ items: Tenant[]; totalItems: number }>;

  /** A tenant, even if deleted; undefined if there is none with this slug. */
  get(tenantSlug: string): Promise<Tenant | undefined>;

  /**
   * Creates a tenant without entities.
   *
   * @throws `InputError` for what is out of bounds; `ConflictError` if the slug is
   * taken, also by a deleted tenant
   */
  create(tenant: CreateTenant): Promise<Tenant>;

  /**
   * Changes the name or the limits of an active tenant. Lowering `max_entities` removes no
   * entities.
   *
   * @throws `InputError` for what is out of bounds, or for no change at all;
   * `NotFoundError` if there is no such tenant, or it is deleted
   */
  update(tenantSlug: string, changes: UpdateTenant): Promise<Tenant>;

  /**
   * Marks a tenant as deleted. It stops resolving at once and keeps its rows.
   *
   * @throws `NotFoundError` if there is no such tenant, or it is deleted already;
   * `ConflictError` for the default tenant
   */
  delete(tenantSlug: string): Promise<void>;

  /**
   * Makes a deleted tenant active again. An active tenant stays unchanged.
   *
   * @throws `NotFoundError` if there is no such tenant
   */
  restore(tenantSlug: string): Promise<Tenant>;

  /**
   * Counts the rows of a tenant, even if deleted.
   *
   * @throws `NotFoundError` if there is no such tenant
   */
  usage(tenantSlug: string): Promise<TenantUsage>;

  /**
   * Counts the live entities of tenants, including deleted tenants.
   *
   * @returns the counts by id; 0 for an unknown id
   */
  countEntities(tenantIds: string[]): Promise<Map<string, number>>;
}
