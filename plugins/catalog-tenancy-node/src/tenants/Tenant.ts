/**
 * A row of the registry, as the API shows it (specification B.1).
 *
 * @public
 */
export interface Tenant {
  /** A UUID. It never changes. */
  tenant_id: string;
  /** Matches `^[a-z0-9-]+$`, at most 63 characters. It never changes. */
  tenant_slug: string;
  /** What people call the tenant: 1 to 255 characters. */
  tenant_name: string;
  /** How many live entities the tenant may have; null, which only SQL sets: any. */
  max_entities: number | null;
  /** How many days deleted entities are kept; null, which only SQL sets: for ever. */
  entity_ttl_days: number | null;
  /** ISO 8601, UTC */
  created_at: string;
  /** ISO 8601, UTC */
  updated_at: string;
  /** ISO 8601, UTC; set while the tenant is deleted */
  deleted_at: string | null;
}

/**
 * What a tenant holds.
 *
 * @public
 */
export interface TenantUsage {
  /** The tenant that holds this. */
  tenant_slug: string;
  /** Entities that are served: what `max_entities` bounds. */
  live_entities: number;
  /** Deleted entities that are kept until `entity_ttl_days` are over. */
  deleted_entities: number;
  /** Relations of its entities. */
  relations: number;
  /** As in {@link Tenant.max_entities}. */
  max_entities: number | null;
}

/**
 * The tenant that the migration creates, and that owns all that was there before.
 *
 * @public
 */
export const DEFAULT_TENANT_ID = '00000000-0000-0000-0000-000000000001';

/**
 * The slug of the default tenant.
 *
 * @public
 */
export const DEFAULT_TENANT_SLUG = 'default';

/** The most characters that a slug may have: it is a label of a hostname. */
export const LONGEST_SLUG = 63;

const SLUG = /^[a-z0-9-]+$/;

/**
 * Whether a text can be the slug of a tenant at all (specification B.1). Whether
 * there is such a tenant is another question.
 *
 * @public
 */
export function isTenantSlug(text: string): boolean {
  return SLUG.test(text);
}
