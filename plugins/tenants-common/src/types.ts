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
 * What a member may do in a tenant: an `admin` administers its members as well.
 *
 * @public
 */
export type TenantRole = 'admin' | 'member';

/**
 * A member of a tenant, as the API shows it.
 *
 * @public
 */
export interface TenantMember {
  /**
   * A user as `user:<namespace>/<name>`, a group as `group:<namespace>/<name>`, both in
   * lower case, or the subject of an external service.
   */
  principal: string;
  /** What the member may do. */
  role: TenantRole;
  /** The user or service that added the member. */
  created_by: string;
  /** ISO 8601, UTC */
  created_at: string;
}

/**
 * What a member is to be.
 *
 * @public
 */
export type PutMember = Pick<TenantMember, 'role'>;

/**
 * A tenant that somebody may enter.
 *
 * @public
 */
export interface Membership {
  /** What requests call the tenant. */
  tenant_slug: string;
  /** What people call the tenant. */
  tenant_name: string;
  /** The highest of the roles that they have there. */
  role: TenantRole;
}

/**
 * Which part of a list is asked for.
 *
 * @public
 */
export interface ListMembers {
  /** 1 to 500; 100 by default */
  limit?: number;
  /** How many entries to pass over first; none by default. */
  offset?: number;
}

/**
 * A page of a list.
 *
 * @public
 */
export interface Page<TItem> {
  /** The entries of this page. */
  items: TItem[];
  /** How many entries all pages have. */
  totalItems: number;
}
