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
] as const satisfies (keyof Tenant)[];

/** A row of `tenants`, as the driver returns it. */
export interface TenantRow
  extends Omit<Tenant, 'created_at' | 'updated_at' | 'deleted_at'> {
  created_at: Date;
  updated_at: Date;
  deleted_at: Date | null;
}

export function toTenant(row: TenantRow): Tenant {
  return {
    ...row,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    deleted_at: row.deleted_at?.toISOString() ?? null,
  };
}
