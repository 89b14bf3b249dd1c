import type {
  CreateTenant,
  ListTenants,
  Tenant,
  TenantUsage,
  UpdateTenant,
} from 'backstage-plugin-tenants-common';

export type { CreateTenant, ListTenants, UpdateTenant };

/**
 * The registry of tenants (specification B.1). It asks no permissions.
 *
 * What changes the registry takes the administrator's path.
 *
 * @public
 */
export interface TenantStore {
  /**
   * A part of the registry, ordered by slug, and how many tenants there are in all.
   *
   * @throws `InputError` for what is out of bounds
   */
  list(options?: ListTenants): Promise<{ items: Tenant[]; totalItems: number }>;

  /** A tenant, also a deleted one; nothing if the slug was never taken. */
  get(tenantSlug: string): Promise<Tenant | undefined>;

  /**
   * Adds a tenant. It has no entities yet.
   *
   * @throws `InputError` for what is out of bounds; `ConflictError` if the slug is
   * taken, also by a deleted tenant
   */
  create(tenant: CreateTenant): Promise<Tenant>;

  /**
   * Changes the name or the limits of an active tenant. More entities than a lowered
   * `max_entities` stay.
   *
   * @throws `InputError` for what is out of bounds, or for no change at all;
   * `NotFoundError` if there is no such tenant, or it is deleted
   */
  update(tenantSlug: string, changes: UpdateTenant): Promise<Tenant>;

  /**
   * Marks a tenant as deleted: it stops resolving at once, and keeps its rows.
   *
   * @throws `NotFoundError` if there is no such tenant, or it is deleted already;
   * `ConflictError` for the default tenant, to which requests that name no tenant
   * belong
   */
  delete(tenantSlug: string): Promise<void>;

  /**
   * Makes a deleted tenant active again. An active one stays as it is.
   *
   * @throws `NotFoundError` if there is no such tenant
   */
  restore(tenantSlug: string): Promise<Tenant>;

  /**
   * Counts what a tenant holds, also a deleted one.
   *
   * @throws `NotFoundError` if there is no such tenant
   */
  usage(tenantSlug: string): Promise<TenantUsage>;

  /**
   * Counts the live entities of tenants, also of deleted ones.
   *
   * @returns by id, with 0 for an id that is no tenant's
   */
  countEntities(tenantIds: string[]): Promise<Map<string, number>>;
}
