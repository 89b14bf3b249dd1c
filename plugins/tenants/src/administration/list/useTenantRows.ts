import { useApi } from '@backstage/frontend-plugin-api';
import { type useListQuery, useRead } from '@internal/pages';
import type {
  Membership,
  Page,
  TenantsApi,
  TenantSummary,
} from 'backstage-plugin-tenants-common';
import { tenantsApiRef } from '../../api';
import { useOpenTenant } from '../../openTenant/OpenTenantContext';
import { ownTenants } from '../../openTenant/ownTenants';

/** How many tenants a page of the list has. */
export const PAGE_SIZE = 20;

/** What the list can be narrowed to, and ordered by; the first of each by default. */
export const CHOICES = {
  state: [
    'active',
    'running',
    'with_errors',
    'starting',
    'paused',
    'failed',
    'deleted',
  ],
  order: ['slug', 'name', 'newest'],
} as const;

type ListQuery = ReturnType<typeof useListQuery<typeof CHOICES>>[0];

/** A part of the list. Only the answer to the last request counts. */
export function useTenantRows({ search, state, order, page }: ListQuery) {
  const tenantsApi = useApi(tenantsApiRef);
  const readsAll = useReadsAllTenants();
  return useRead<Page<Membership | TenantSummary>>(() => {
    const load = readsAll ? loadRows : loadOwnRows;
    return load(tenantsApi, { search, state, order, page });
  }, [tenantsApi, readsAll, search, state, order, page]);
}

/** Whether the registry answers this user. Others may administer some of the tenants. */
export function useReadsAllTenants(): boolean {
  return useOpenTenant()?.administers_tenants !== false;
}

async function loadRows(
  tenantsApi: TenantsApi,
  { search, state, order, page }: ListQuery,
): Promise<Page<TenantSummary>> {
  return tenantsApi.listTenantSummaries({
    limit: PAGE_SIZE,
    offset: (page - 1) * PAGE_SIZE,
    ...(search && { search }),
    ...(state !== 'active' && { state }),
    ...(order !== 'slug' && { orderBy: order }),
  });
}

async function loadOwnRows(
  tenantsApi: TenantsApi,
  { search, page }: ListQuery,
): Promise<Page<Membership>> {
  const offset = (page - 1) * PAGE_SIZE;
  const text = search.toLowerCase();
  const items = (await listOwn(tenantsApi)).filter(
    ({ tenant_slug, tenant_name }) =>
      tenant_slug.includes(text) || tenant_name.toLowerCase().includes(text),
  );
  return {
    items: items.slice(offset, offset + PAGE_SIZE),
    totalItems: items.length,
  };
}

/** The tenants that the user is an admin of. */
export async function listOwn(tenantsApi: TenantsApi): Promise<Membership[]> {
  let all: Membership[] = [];
  for await (const { tenants } of ownTenants(tenantsApi)) {
    all = tenants;
  }
  return all.filter(({ role }) => role === 'admin');
}
