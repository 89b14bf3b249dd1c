import type { Tenant, TenantUsage } from './Tenant';

/**
 * A tenant that is to be created.
 *
 * @public
 */
export interface CreateTenant {
  /** Matches `^[a-z0-9-]+$`, at most 63 characters; `www` is reserved. */
  tenant_slug: string;
  /** 1 to 255 characters */
  tenant_name: string;
  /** 0 or more; 50000 by default */
  max_entities?: number;
  /** 1 or more; 365 by default */
  entity_ttl_days?: number;
}

/**
 * What is to change of a tenant: one thing at least. A slug stays for ever, for it
 * is part of addresses and tokens.
 *
 * @public
 */
export type UpdateTenant = Partial<Omit<CreateTenant, 'tenant_slug'>>;

/**
 * Which tenants of the registry are asked for.
 *
 * @public
 */
export interface ListTenants {
  /** Deleted tenants too; without them by default. */
  deleted?: boolean;
  /** 1 to 500; 100 by default */
  limit?: number;
  /** How many tenants of the list to pass over first; none by default. */
  offset?: number;
}

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
}
