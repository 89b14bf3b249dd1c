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
  engines: Pick<TenantEngines, 'countSourceErrors' | 'isAvailable' | 'reports'>;
  engineStore: Pick<TenantEngineStore, 'list'>;
  store: Pick<TenantStore, 'countEntities' | 'list'>;
}

type SummaryQuery = Required<ListTenants> &
  Pick<ListTenantSummaries, 'orderBy' | 'state'>;

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
    return { items: await summarize(items, from), totalItems };
  }
  // A filter by state, or another order, requires reading all tenants.
  const all = await listAll(query, from);
  const found = state ? await filterBy(state, all, from) : all;
  const { offset, limit } = page;
  const items = found.sort(ORDERS[orderBy]).slice(offset, offset + limit);
  return {
    items: await summarize(items, from),
    totalItems: found.length,
  };
}

/** Reads the tables of each engine only for `with_errors`, within seconds. */
async function filterBy(
  state: NonNullable<SummaryQuery['state']>,
  all: Tenant[],
  from: From,
): Promise<Tenant[]> {
  if (state === 'deleted') {
    return all.filter(({ deleted_at }) => deleted_at !== null);
  }
  const active = all.filter(({ deleted_at }) => deleted_at === null);
  const found =
    state === 'with_errors'
      ? await countErrors(active, from)
      : await readStates(active, from);
  return active.filter(({ tenant_id }) => {
    const value = found.get(tenant_id);
    return typeof value === 'number'
      ? value > 0
      : // Not counted in time.
        value === null || value === state;
  });
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

async function summarize(
  tenants: Tenant[],
  from: From,
): Promise<TenantSummary[]> {
  const [states, errors, entities] = await Promise.all([
    readStates(tenants, from),
    countErrors(tenants, from),
    from.store.countEntities(tenants.map(({ tenant_id }) => tenant_id)),
  ]);
  return tenants.map(tenant => ({
    ...tenant,
    state: tenant.deleted_at ? null : states.get(tenant.tenant_id)!,
    source_error_count: errors.get(tenant.tenant_id) ?? null,
    entities: entities.get(tenant.tenant_id) ?? 0,
  }));
}

async function readStates(
  tenants: Tenant[],
  { engines, engineStore }: From,
): Promise<Map<string, TenantStatus['state']>> {
  const tenantIds = tenants.map(({ tenant_id }) => tenant_id);
  const records = new Map(
    (await engineStore.list({ tenantIds })).map(each => [each.tenantId, each]),
  );
  const reports = engines.isAvailable
    ? await engines.reports([...records.keys()])
    : undefined;
  return new Map(
    tenantIds.map(id => [id, stateOf(records.get(id), reports?.get(id))]),
  );
}

async function countErrors(
  tenants: Tenant[],
  { engines }: From,
): Promise<Map<string, number | null>> {
  return engines.isAvailable
    ? engines.countSourceErrors(tenants.map(({ tenant_id }) => tenant_id))
    : new Map();
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
