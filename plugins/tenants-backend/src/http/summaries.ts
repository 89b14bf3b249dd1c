import type {
  ListTenants,
  Tenant,
  TenantEngineRecord,
  TenantEngineReport,
  TenantEngines,
  TenantEngineStore,
  TenantStore,
} from 'backstage-plugin-catalog-tenancy-node';
import type {
  ListTenantSummaries,
  TenantStatus,
  TenantSummary,
} from 'backstage-plugin-tenants-common';

interface From {
  engines: Pick<TenantEngines, 'isAvailable' | 'reports'>;
  engineStore: Pick<TenantEngineStore, 'list'>;
  store: Pick<TenantStore, 'countEntities' | 'list'>;
}

type SummaryQuery = Required<ListTenants> &
  Pick<ListTenantSummaries, 'orderBy' | 'state'>;

type Stated = Omit<TenantSummary, 'entities'>;

const ORDERS: Record<
  NonNullable<SummaryQuery['orderBy']>,
  (a: Tenant, b: Tenant) => number
> = {
  slug: (a, b) => (a.tenant_slug < b.tenant_slug ? -1 : 1),
  name: (a, b) => a.tenant_name.localeCompare(b.tenant_name),
  newest: (a, b) => (a.created_at < b.created_at ? 1 : -1),
};

/** A page of tenants with their number of entities and the state of their engines. */
export async function listSummaries(
  query: SummaryQuery,
  from: From,
): Promise<{ items: TenantSummary[]; totalItems: number }> {
  const { orderBy = 'slug', state, ...page } = query;
  if (!state && orderBy === 'slug') {
    const { items, totalItems } = await from.store.list(page);
    const stated = await addStates(items, from);
    return { items: await addEntities(stated, from), totalItems };
  }
  // A filter by state, or another order, requires reading all tenants.
  const { offset, limit } = page;
  const pageOf = <T extends Tenant>(tenants: T[]) =>
    tenants.sort(ORDERS[orderBy]).slice(offset, offset + limit);
  const all = await listAll(query, from);
  if (!state) {
    const stated = await addStates(pageOf(all), from);
    return {
      items: await addEntities(stated, from),
      totalItems: all.length,
    };
  }
  const found = (await addStates(all, from)).filter(each => isIn(state, each));
  return {
    items: await addEntities(pageOf(found), from),
    totalItems: found.length,
  };
}

function isIn(
  state: NonNullable<SummaryQuery['state']>,
  tenant: Stated,
): boolean {
  switch (state) {
    case 'deleted':
      return tenant.deleted_at !== null;
    case 'with_errors':
      return tenant.state !== null && Boolean(tenant.source_error_count);
    default:
      return tenant.state === state;
  }
}

async function listAll(
  { search, deleted, state }: SummaryQuery,
  { store }: From,
): Promise<Tenant[]> {
  const limit = 500;
  const all: Tenant[] = [];
  for (;;) {
    const { items } = await store.list({
      search,
      deleted: deleted || state === 'deleted',
      limit,
      offset: all.length,
    });
    all.push(...items);
    if (items.length < limit) {
      return all;
    }
  }
}

async function addStates(
  tenants: Tenant[],
  { engines, engineStore }: From,
): Promise<Stated[]> {
  const tenantIds = tenants.map(({ tenant_id }) => tenant_id);
  const records = new Map(
    (await engineStore.list({ tenantIds })).map(each => [each.tenantId, each]),
  );
  const reports = engines.isAvailable
    ? await engines.reports([...records.keys()])
    : undefined;
  return tenants.map(tenant => {
    const report = reports?.get(tenant.tenant_id);
    return {
      ...tenant,
      state: tenant.deleted_at
        ? null
        : stateOf(records.get(tenant.tenant_id), report),
      source_error_count: report?.sourceErrorCount ?? null,
    };
  });
}

async function addEntities(
  tenants: Stated[],
  { store }: From,
): Promise<TenantSummary[]> {
  const counts = await store.countEntities(
    tenants.map(({ tenant_id }) => tenant_id),
  );
  return tenants.map(tenant => ({
    ...tenant,
    entities: counts.get(tenant.tenant_id) ?? 0,
  }));
}

/** `unknown` in a backend without engines: another backend on this database may have them. */
export function stateOf(
  engine: TenantEngineRecord | undefined,
  report: TenantEngineReport | undefined,
): TenantStatus['state'] {
  if (!engine) {
    return 'catalog_plugin';
  }
  return engine.pausedAt ? 'paused' : report?.state ?? 'unknown';
}
