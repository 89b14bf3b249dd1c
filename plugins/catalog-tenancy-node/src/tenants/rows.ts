import type { Tenant } from './Tenant';

/** The columns of `tenants`, in the order in which the API shows them. */
export const TENANT_COLUMNS = [
  'tenant_id',
  'tenant_slug',
  'tenant_name',
  'max_entities',
  'entity_ttl_days',
  'created_at',
  'updated_at',
  'deleted_at',
];

// The columns may be null, by a hand of somebody else: then what they are by
// default holds (specification B.1).
const DEFAULT_MAX_ENTITIES = 50_000;
const DEFAULT_TTL_DAYS = 365;

/** A row of `tenants`, as the driver returns it. */
export interface TenantRow {
  tenant_id: string;
  tenant_slug: string;
  tenant_name: string;
  max_entities: number | null;
  entity_ttl_days: number | null;
  created_at: Date;
  updated_at: Date;
  deleted_at: Date | null;
}

export function toTenant(row: TenantRow): Tenant {
  return {
    tenant_id: row.tenant_id,
    tenant_slug: row.tenant_slug,
    tenant_name: row.tenant_name,
    max_entities: row.max_entities ?? DEFAULT_MAX_ENTITIES,
    entity_ttl_days: row.entity_ttl_days ?? DEFAULT_TTL_DAYS,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    deleted_at: row.deleted_at && row.deleted_at.toISOString(),
  };
}
