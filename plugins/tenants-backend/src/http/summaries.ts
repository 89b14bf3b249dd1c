import {
  type Tenant,
  type TenantEngineRecord,
  type TenantEngineReport,
  type TenantEngines,
  type TenantEngineStore,
  type TenantStore,
} from 'backstage-plugin-catalog-tenancy-node';
import type {
  TenantStatus,
  TenantSummary,
} from 'backstage-plugin-tenants-common';

/** Adds to each tenant what it holds and what feeds it, in as few statements as can be. */
export async function summarize(
  tenants: Tenant[],
  from: {
    engines: Pick<TenantEngines, 'isAvailable' | 'reports'>;
    engineStore: Pick<TenantEngineStore, 'list'>;
    store: Pick<TenantStore, 'countEntities'>;
  },
): Promise<TenantSummary[]> {
  const { engines, engineStore, store } = from;
  const tenantIds = tenants.map(({ tenant_id }) => tenant_id);
  const records = new Map(
    (await engineStore.list({ tenantIds })).map(each => [each.tenantId, each]),
  );
  const [entities, reports] = await Promise.all([
    store.countEntities(tenantIds),
    engines.isAvailable ? engines.reports([...records.keys()]) : undefined,
  ]);
  return tenants.map(tenant => ({
    ...tenant,
    state: tenant.deleted_at
      ? null
      : stateOf(records.get(tenant.tenant_id), reports?.get(tenant.tenant_id)),
    source_error_count:
      reports?.get(tenant.tenant_id)?.sourceErrorCount ?? null,
    entities: entities.get(tenant.tenant_id) ?? 0,
  }));
}

/** In a backend without engines, another one on this database may have them. */
export function stateOf(
  engine: TenantEngineRecord | undefined,
  report: TenantEngineReport | undefined,
): TenantStatus['state'] {
  if (!engine) {
    return 'catalog_plugin';
  }
  return engine.pausedAt ? 'paused' : report?.state ?? 'unknown';
}
