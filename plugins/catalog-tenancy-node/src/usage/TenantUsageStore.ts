import type {
  ListTenantUsage,
  TenantUsageDay,
} from 'backstage-plugin-tenants-common';
import type { ActiveTenant } from '../tenants/TenantDirectory';

/**
 * What a tenant has used since this process started.
 *
 * @public
 */
export interface TenantUsageTotals {
  /** Requests that were let into the tenant. */
  requests: number;
  /** For how long, in milliseconds, its operations have had a connection. */
  databaseMs: number;
}

/**
 * What tenants use, by day. It asks no permissions.
 *
 * @public
 */
export interface TenantUsageStore {
  /**
   * Counts a request.
   *
   * @param person - the user who sent it, if one did
   */
  count(tenant: ActiveTenant, person?: string): void;

  /** Counts for how long, in milliseconds, an operation of a tenant has had a connection. */
  addWork(tenantId: string, ms: number): void;

  /** By slug. */
  totals(): Iterable<[string, TenantUsageTotals]>;

  /**
   * The days on which a tenant, also a deleted one, has used anything, the earliest first.
   *
   * @throws `NotFoundError` if there is no such tenant; `InputError` for a malformed query
   */
  list(tenantSlug: string, query?: ListTenantUsage): Promise<TenantUsageDay[]>;

  /** Counts the entities of all tenants. */
  countEntities(signal?: AbortSignal): Promise<void>;
}
