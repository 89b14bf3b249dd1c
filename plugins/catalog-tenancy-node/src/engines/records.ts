import type { JsonObject } from '@backstage/types';
import type { Knex } from 'knex';
import type { TenancyPool } from '../pool/TenancyPool';
import { DEFAULT_TENANT_ID } from '../tenants/Tenant';
import type { TenantEngineRecord } from './TenantEngineRecord';

/** A tenant with its row of `tenant_engines`, if it has one, as the driver returns it. */
export interface EngineRow {
  tenant_id: string;
  tenant_slug: string;
  deleted_at: Date | null;
  catalog_config: JsonObject | null;
  config_updated_at: Date | null;
  config_updated_by: string | null;
  paused_at: Date | null;
  paused_by: string | null;
}

/**
 * The engines of all tenants except the default one. An engine has a row only once it was
 * configured or paused.
 */
export function selectEngines(knex: Knex) {
  return knex({ t: 'tenants' })
    .leftJoin({ e: 'tenant_engines' }, 'e.tenant_id', 't.tenant_id')
    .whereNot('t.tenant_id', DEFAULT_TENANT_ID)
    .select(
      't.tenant_slug',
      't.deleted_at',
      't.tenant_id',
      'e.catalog_config',
      'e.config_updated_at',
      'e.config_updated_by',
      // A tenant that moves to another deployment must not change, so its engine counts as
      // paused.
      knex.raw(
        `coalesce(e.paused_at, case when t.read_only_until > now() then now() end) as paused_at`,
      ),
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
    pausedAt: row.paused_at ?? undefined,
    pausedBy: row.paused_by ?? undefined,
  };
}

/** All records, ordered by slug in the same way under every collation of the database. */
export async function listEngines(
  pool: Pick<TenancyPool, 'query'>,
  { tenantIds }: { tenantIds?: string[] } = {},
): Promise<TenantEngineRecord[]> {
  const rows = await pool.query<EngineRow>(knex => {
    const engines = selectEngines(knex).orderByRaw('t.tenant_slug collate "C"');
    return tenantIds ? engines.whereIn('t.tenant_id', tenantIds) : engines;
  });
  return rows.map(toEngineRecord);
}
