import { randomUUID } from 'node:crypto';
import { ConflictError, NotFoundError } from '@backstage/errors';
import {
  type ActiveTenant,
  type CreateTenant,
  DEFAULT_TENANT_ID,
  DEFAULT_TENANT_SLUG,
  type ListTenants,
  type Tenant,
  type TenantDirectory,
  type TenantStore,
  type TenantUsage,
  type UpdateTenant,
} from 'backstage-plugin-catalog-tenancy-node';
import {
  createTenantSchema,
  listTenantsSchema,
  parseInput,
  updateTenantSchema,
} from 'backstage-plugin-tenants-common';

/**
 * A registry of tenants without a database, and the directory to it, for the tests
 * of plugins that use them. It begins with the default tenant. No tenant holds
 * anything.
 */
export class InMemoryTenantStore implements TenantStore, TenantDirectory {
  readonly #tenants = new Map<string, Tenant>();

  constructor() {
    this.#insert(DEFAULT_TENANT_ID, {
      tenant_slug: DEFAULT_TENANT_SLUG,
      tenant_name: 'Default tenant',
    });
  }

  async list(
    options: ListTenants = {},
  ): Promise<{ items: Tenant[]; totalItems: number }> {
    const { deleted, limit, offset, search } = parseInput(
      listTenantsSchema,
      options,
      'query',
    );
    const text = search.toLowerCase();
    const found = [...this.#tenants.values()]
      .filter(tenant => deleted || tenant.deleted_at === null)
      .filter(
        ({ tenant_slug, tenant_name }) =>
          tenant_slug.includes(text) ||
          tenant_name.toLowerCase().includes(text),
      )
      .sort((a, b) => (a.tenant_slug < b.tenant_slug ? -1 : 1));
    return {
      items: structuredClone(found.slice(offset, offset + limit)),
      totalItems: found.length,
    };
  }

  async get(tenantSlug: string): Promise<Tenant | undefined> {
    return structuredClone(this.#tenants.get(tenantSlug));
  }

  async create(tenant: CreateTenant): Promise<Tenant> {
    const parsed = parseInput(createTenantSchema, tenant, 'tenant');
    if (this.#tenants.has(parsed.tenant_slug)) {
      throw new ConflictError(
        `The tenant_slug '${parsed.tenant_slug}' is taken`,
      );
    }
    return structuredClone(this.#insert(randomUUID(), parsed));
  }

  async update(tenantSlug: string, changes: UpdateTenant): Promise<Tenant> {
    const parsed = parseInput(
      updateTenantSchema,
      changes,
      'changes to a tenant',
    );
    const tenant = this.#active(tenantSlug);
    const {
      tenant_name = tenant.tenant_name,
      max_entities = tenant.max_entities,
      entity_ttl_days = tenant.entity_ttl_days,
      concurrency = tenant.concurrency,
      requests_per_second = tenant.requests_per_second,
      burst = tenant.burst,
    } = parsed;
    Object.assign(tenant, {
      tenant_name,
      max_entities,
      entity_ttl_days,
      concurrency,
      requests_per_second,
      burst,
      updated_at: new Date().toISOString(),
    });
    return structuredClone(tenant);
  }

  async delete(tenantSlug: string): Promise<void> {
    const tenant = this.#active(tenantSlug);
    if (tenant.tenant_id === DEFAULT_TENANT_ID) {
      throw new ConflictError('The default tenant cannot be deleted');
    }
    tenant.deleted_at = new Date().toISOString();
    tenant.updated_at = tenant.deleted_at;
  }

  async restore(tenantSlug: string): Promise<Tenant> {
    const tenant = this.#known(tenantSlug);
    if (tenant.deleted_at !== null) {
      tenant.deleted_at = null;
      tenant.updated_at = new Date().toISOString();
    }
    return structuredClone(tenant);
  }

  async usage(tenantSlug: string): Promise<TenantUsage> {
    const { tenant_id, tenant_name, updated_at, deleted_at, ...limits } =
      this.#known(tenantSlug);
    return {
      ...limits,
      live_entities: 0,
      shared_entities: 0,
      deleted_entities: 0,
      relations: 0,
    };
  }

  async countEntities(tenantIds: string[]): Promise<Map<string, number>> {
    return new Map(tenantIds.map(id => [id, 0]));
  }

  async findActive(tenantSlug: string): Promise<ActiveTenant | undefined> {
    const tenant = this.#tenants.get(tenantSlug);
    return tenant && tenant.deleted_at === null
      ? { tenantId: tenant.tenant_id, tenantSlug }
      : undefined;
  }

  /** It remembers nothing. */
  forget(): void {}

  #insert(tenantId: string, given: CreateTenant): Tenant {
    const now = new Date().toISOString();
    const tenant: Tenant = {
      tenant_id: tenantId,
      tenant_slug: given.tenant_slug,
      tenant_name: given.tenant_name,
      max_entities: given.max_entities ?? 50_000,
      entity_ttl_days: given.entity_ttl_days ?? 365,
      concurrency: given.concurrency ?? null,
      requests_per_second: given.requests_per_second ?? null,
      burst: given.burst ?? null,
      created_at: now,
      updated_at: now,
      deleted_at: null,
    };
    this.#tenants.set(tenant.tenant_slug, tenant);
    return tenant;
  }

  #known(tenantSlug: string): Tenant {
    const tenant = this.#tenants.get(tenantSlug);
    if (!tenant) {
      throw new NotFoundError(`There is no tenant '${tenantSlug}'`);
    }
    return tenant;
  }

  #active(tenantSlug: string): Tenant {
    const tenant = this.#known(tenantSlug);
    if (tenant.deleted_at !== null) {
      throw new NotFoundError(`The tenant '${tenantSlug}' is deleted`);
    }
    return tenant;
  }
}
