import { useApi } from '@backstage/frontend-plugin-api';
import { statusOf, useRead } from '@internal/pages';
import type {
  Tenant,
  TenantsApi,
  TenantStatus,
} from 'backstage-plugin-tenants-common';
import { tenantsApiRef } from '../../api';
import { listOwn, useReadsAllTenants } from '../list/useTenantRows';

/** A tenant, as far as the user may see it. */
export interface VisibleTenant {
  slug: string;
  name: string;
  /** Its row of the registry, for administrators of all tenants. */
  row?: Tenant;
}

/** The tenant of a page; nothing if there is none. */
export function useTenant(slug: string) {
  const tenantsApi = useApi(tenantsApiRef);
  const readsAll = useReadsAllTenants();
  return useRead(
    async () =>
      (readsAll ? undefined : await findOwn(tenantsApi, slug)) ??
      (await findRow(tenantsApi, slug)),
    [tenantsApi, readsAll, slug],
  );
}

/** Of the tenants that the user is an admin of. */
async function findOwn(
  tenantsApi: TenantsApi,
  slug: string,
): Promise<VisibleTenant | undefined> {
  const own = (await listOwn(tenantsApi)).find(
    ({ tenant_slug }) => tenant_slug === slug,
  );
  return own && { slug, name: own.tenant_name };
}

async function findRow(
  tenantsApi: TenantsApi,
  slug: string,
): Promise<VisibleTenant | undefined> {
  try {
    const row = await tenantsApi.getTenant(slug);
    return row && { slug, name: row.tenant_name, row };
  } catch (error) {
    // As if it were missing: trying again does not help.
    if (statusOf(error) !== 403) {
      throw error;
    }
    return undefined;
  }
}

/** What a tenant does at a moment. */
export interface TenantState {
  status: TenantStatus;
  /** When this was read. */
  at: string;
}

export async function loadState(
  tenantsApi: TenantsApi,
  slug: string,
): Promise<TenantState> {
  const status = await tenantsApi.getTenantStatus(slug);
  return { status, at: new Date().toISOString() };
}
