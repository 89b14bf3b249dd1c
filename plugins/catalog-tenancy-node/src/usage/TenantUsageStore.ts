import type {
  ListTenantUsage,
  TenantUsageDay,
} from 'backstage-plugin-tenants-common';
import type { ActiveTenant } from '../tenants/TenantDirectory';

/**
 * The usage of a tenant since this process started.
 *
 * @public
 */
export interface TenantUsageTotals {
  /** Requests admitted to the tenant. */
  requests: number;
  /** How long its operations have held connections, in milliseconds. */
  databaseMs: number;
}

/**
 * The usage of tenants by day. It checks no permissions.
 *
 * @public
 */
export interface TenantUsageStore {
  /**
   * Counts a request.
   *
   * @param person - the user who sent it, if any
   */
  count(tenant: ActiveTenant, person?: string): void;

  /** Adds the time that an operation of a tenant has held a connection, in milliseconds. */
  addWork(tenantId: string, ms: number): void;

  /** The usage since the start, by slug. */
  totals(): Iterable<[string, TenantUsageTotals]>;

  /**
   * The days with usage of a tenant, earliest first. Works for deleted tenants too.
   *
   * @throws `NotFoundError` if there is no such tenant; `InputError` for a malformed query
   */
  list(tenantSlug: string, query?: ListTenantUsage): Promise<TenantUsageDay[]>;

  /** Counts and stores the entities of all tenants. */
  countEntities(signal?: AbortSignal): Promise<void>;
}
