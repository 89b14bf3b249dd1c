import type { JsonObject } from '@backstage/types';
import type { Knex } from 'knex';
import type { TenancyPool } from '../pool/TenancyPool';
import type { TenantEngineRecord } from './TenantEngineStore';

/** A row of `tenant_engines` with its tenant, as the driver returns it. */
export interface EngineRow {
  tenant_id: string;
  tenant_slug: string;
  deleted_at: Date | null;
  catalog_config: JsonObject | null;
  config_updated_at: Date | null;
  config_updated_by: string | null;
  created_by: string;
  created_at: Date;
  paused_at: Date | null;
  paused_by: string | null;
}

/** Of all tenants, unless more is asked for. Those that are taken away are not among them. */
export function selectEngines(knex: Knex) {
  return knex({ e: 'tenant_engines' })
    .join({ t: 'tenants' }, 't.tenant_id', 'e.tenant_id')
    .whereNull('e.disabled_at')
    .select(
      't.tenant_slug',
      't.deleted_at',
      'e.tenant_id',
      'e.catalog_config',
      'e.config_updated_at',
      'e.config_updated_by',
      'e.created_by',
      'e.created_at',
      'e.paused_at',
      'e.paused_by',
    );
}

export function toEngineRecord(row: EngineRow): TenantEngineRecord {
  return {
    tenantId: row.tenant_id,
    tenantSlug: row.tenant_slug,
    isActive: row.deleted_at === null,
    catalogConfig: row.catalog_config ?? undefined,
    configUpdatedAt: row.config_updated_at ?? undefined,
    configUpdatedBy: row.config_updated_by ?? undefined,
    createdBy: row.created_by,
    createdAt: row.created_at,
    pausedAt: row.paused_at ?? undefined,
    pausedBy: row.paused_by ?? undefined,
  };
}

/** The tenants from which an engine was taken, while its tables are there. */
export function listDisabledEngines(
  pool: Pick<TenancyPool, 'query'>,
): Promise<{ tenantId: string }[]> {
  return pool.query(knex =>
    knex('tenant_engines')
      .whereNotNull('disabled_at')
      .orderBy('disabled_at')
      .select({ tenantId: 'tenant_id' }),
  );
}

/** All records, ordered by slug: in the same order on every server, whatever its collation. */
export async function listEngines(
  pool: Pick<TenancyPool, 'query'>,
  { tenantIds }: { tenantIds?: string[] } = {},
): Promise<TenantEngineRecord[]> {
  const rows = await pool.query<EngineRow>(knex => {
    const engines = selectEngines(knex).orderByRaw('t.tenant_slug collate "C"');
    return tenantIds ? engines.whereIn('e.tenant_id', tenantIds) : engines;
  });
  return rows.map(toEngineRecord);
}
