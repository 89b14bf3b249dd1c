import type {
  CreateShare,
  TenantShare,
  TenantShares,
  UpdateShare,
} from 'backstage-plugin-tenants-common';
import type { FilterPredicate } from '@backstage/filter-predicates';

/**
 * A share of an active tenant, as engines need it.
 *
 * @public
 */
export interface ActiveShare {
  /** A UUID. */
  shareId: string;
  /** The id and slug of the tenant that shares. */
  source: { tenantId: string; tenantSlug: string };
  /** The ids of the receiving tenants; null for all. */
  targetIds: string[] | null;
  /** Selects the shared entities of the source. */
  filter: FilterPredicate;
  /** As in `TenantShare`. */
  owner: string | null;
  /** Changes with the entities that it selects, and with what is written into their copies. */
  version: string;
}

/**
 * The shares between tenants, in the registry.
 *
 * @public
 */
export interface TenantShareStore {
  /**
   * Lists what a tenant shares and receives.
   *
   * @throws NotFoundError if there is no such active tenant
   */
  list(tenantSlug: string): Promise<TenantShares>;

  /**
   * Creates a share.
   *
   * @throws InputError for invalid values, and for a target that is not an active tenant, is
   * the source or the default tenant; NotFoundError if there is no such active tenant;
   * ConflictError if the tenant has the most shares allowed
   */
  create(
    tenantSlug: string,
    share: CreateShare,
    options: { by: string },
  ): Promise<TenantShare>;

  /**
   * Changes a share.
   *
   * @throws as {@link TenantShareStore.create}; NotFoundError if the tenant has no such share
   */
  update(
    tenantSlug: string,
    shareId: string,
    changes: UpdateShare,
  ): Promise<TenantShare>;

  /**
   * Ends a share: the engines of the receiving tenants remove its copies.
   *
   * @throws NotFoundError if the tenant has no such share
   */
  delete(tenantSlug: string, shareId: string): Promise<void>;

  /** The shares of all active tenants, highest priority first. */
  listActive(): Promise<ActiveShare[]>;
}
