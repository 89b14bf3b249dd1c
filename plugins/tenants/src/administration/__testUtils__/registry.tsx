import { renderInTestApp } from '@backstage/frontend-test-utils';
import type {
  OpenTenant,
  Tenant,
  TenantsApi,
  TenantStatus,
  TenantSummary,
  TenantUsage,
} from 'backstage-plugin-tenants-common';
import { tenantsApiRef } from '../../api';
import { openTenantOf } from '../../openTenant/__testUtils__/openTenant';
import { OpenTenantContext } from '../../openTenant/OpenTenantContext';
import { rootRouteRef } from '../../routes';
import { TenantsPage } from '../TenantsPage';

export const tenantOf = (
  tenant_slug: string,
  more: Partial<Tenant> = {},
): Tenant => ({
  tenant_id: `id of ${tenant_slug}`,
  tenant_slug,
  tenant_name: tenant_slug.toUpperCase(),
  max_entities: 50_000,
  entity_ttl_days: 365,
  concurrency: null,
  requests_per_second: null,
  burst: null,
  created_at: '2026-11-20T10:00:00.000Z',
  updated_at: '2026-11-20T10:00:00.000Z',
  deleted_at: null,
  ...more,
});

export const summaryOf = (
  slug: string,
  more: Partial<TenantSummary> = {},
): TenantSummary => ({
  ...tenantOf(slug),
  state: 'running',
  source_error_count: 0,
  entities: 7,
  ...more,
});

export const statusOf = (more: Partial<TenantStatus> = {}): TenantStatus => ({
  tenant_slug: 'acme',
  state: 'running',
  reason: null,
  paused_at: null,
  paused_by: null,
  entities: 7,
  faults: 0,
  lag_seconds: 0,
  oldest_due_at: null,
  source_errors: [],
  source_error_count: 0,
  last_error: null,
  last_error_at: null,
  last_full_run_at: '2026-11-20T10:00:00.000Z',
  process: 'portal-1 17',
  lease_expires_at: '2026-11-20T10:01:00.000Z',
  catalog_version: '4.0.5',
  ...more,
});

export const usageOf = (more: Partial<TenantUsage> = {}): TenantUsage => ({
  tenant_slug: 'acme',
  live_entities: 7,
  shared_entities: 0,
  deleted_entities: 2,
  relations: 11,
  max_entities: 50_000,
  entity_ttl_days: 365,
  concurrency: null,
  requests_per_second: null,
  burst: null,
  created_at: '2026-11-20T10:00:00.000Z',
  ...more,
});

export { openTenantOf };
export { refusal, seriousProblems } from '@internal/pages/testUtils';

/** One method of the registry. */
export function mock<TName extends keyof TenantsApi>(
  _name: TName,
  answer: TenantsApi[TName],
) {
  return jest.fn<ReturnType<TenantsApi[TName]>, Parameters<TenantsApi[TName]>>(
    answer as (
      ...args: Parameters<TenantsApi[TName]>
    ) => ReturnType<TenantsApi[TName]>,
  );
}

/** A registry with one tenant, as an administrator of all tenants sees it. */
export function mockRegistry() {
  return {
    listTenantSummaries: mock('listTenantSummaries', async () => ({
      items: [summaryOf('acme')],
      totalItems: 1,
    })),
    listOwnTenants: mock('listOwnTenants', async () => ({
      items: [],
      totalItems: 0,
    })),
    createTenant: mock('createTenant', async ({ tenant_slug }) =>
      tenantOf(tenant_slug),
    ),
    getTenant: mock('getTenant', async slug => tenantOf(slug)),
    updateTenant: mock('updateTenant', async slug => tenantOf(slug)),
    deleteTenant: mock('deleteTenant', async () => {}),
    restoreTenant: mock('restoreTenant', async slug => tenantOf(slug)),
    getTenantStatus: mock('getTenantStatus', async () => statusOf()),
    getTenantUsage: mock('getTenantUsage', async () => usageOf()),
    listUsage: mock('listUsage', async () => []),
    pauseEngine: mock('pauseEngine', async () => {}),
    resumeEngine: mock('resumeEngine', async () => {}),
  };
}

/** The pages of the administration, at an address below /tenants, with a tenant open. */
export function renderPages(
  api: ReturnType<typeof mockRegistry>,
  at: string,
  tenant: OpenTenant = openTenantOf('default'),
) {
  return renderInTestApp(
    <OpenTenantContext.Provider value={{ tenant, showsTenant: () => () => {} }}>
      <TenantsPage />
    </OpenTenantContext.Provider>,
    {
      apis: [[tenantsApiRef, api as unknown as TenantsApi]],
      mountedRoutes: { '/': rootRouteRef },
      initialRouteEntries: [at],
    },
  );
}
