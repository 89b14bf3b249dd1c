import type {
  Membership,
  OpenTenant,
  Page,
  TenantsApi,
} from 'backstage-plugin-tenants-common';
import { DEFAULT_TENANT_SLUG } from './tenantAddress';

/** How the gate refuses a tenant, to the byte; no other 403 is this one. */
export const REFUSAL = '{"error":"Invalid tenant"}';

/** What becomes of a page after its user has signed in. */
export type Decision =
  /** It shows this tenant; nothing where the backend knows no tenants. */
  | { kind: 'open'; tenant: OpenTenant | undefined }
  /** It has to name another tenant, or none, or be at the hostname of one. */
  | { kind: 'other'; slug: string | undefined; tenant?: OpenTenant }
  /**
   * Its user may not enter the tenant that it names. Which others there are is not known
   * where its hostname names the tenant: the portal refuses that question too.
   */
  | { kind: 'refused'; own: Page<Membership> | undefined };

/**
 * Decides which tenant is open in a page. The portal says which its requests belong to; the
 * page never guesses from its address.
 *
 * @param slug - what the page sends as `X-Tenant-Slug`
 */
export async function decideTenant(
  tenantsApi: Pick<TenantsApi, 'getOpenTenant' | 'listOwnTenants'>,
  slug: string | undefined,
): Promise<Decision> {
  let tenant: OpenTenant | undefined;
  try {
    tenant = await ifAdmitted(() => tenantsApi.getOpenTenant());
  } catch (error) {
    if (statusOf(error) === 404) {
      // A backend without the plugin, or one from before it could say this.
      return { kind: 'open', tenant: undefined };
    }
    throw error;
  }
  if (!tenant) {
    const own = await ifAdmitted(() =>
      tenantsApi.listOwnTenants(
        { limit: 100 },
        // Of no tenant that the page names: that one may be the one that refuses.
        { tenantSlug: DEFAULT_TENANT_SLUG },
      ),
    );
    return slug === undefined && own?.totalItems === 1
      ? { kind: 'other', slug: own.items[0].tenant_slug }
      : { kind: 'refused', own };
  }
  if (slug !== undefined) {
    const isByHeader = tenant.named_by === 'header';
    if (isByHeader && tenant.base_domain !== null) {
      // From before tenants had hostnames, or from the page that lists the own tenants.
      return { kind: 'other', slug, tenant };
    }
    return isByHeader
      ? { kind: 'open', tenant }
      : { kind: 'other', slug: undefined };
  }
  const isFirstVisit =
    tenant.enabled &&
    tenant.named_by === 'default' &&
    tenant.base_domain === null;
  if (isFirstVisit && !tenant.administers_tenants) {
    const { items, totalItems } = tenant.own_tenants;
    const beside = items.filter(
      ({ tenant_slug }) => tenant_slug !== DEFAULT_TENANT_SLUG,
    );
    if (totalItems <= 2 && beside.length === 1) {
      return { kind: 'other', slug: beside[0].tenant_slug };
    }
  }
  return { kind: 'open', tenant };
}

async function ifAdmitted<T>(ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask();
  } catch (error) {
    if (isRefusal(error)) {
      return undefined;
    }
    throw error;
  }
}

/** Whether the gate has refused a call of the client. Other answers with 403 are not this. */
export function isRefusal(error: unknown): boolean {
  const { body } = (error ?? {}) as { body?: { error?: { message?: string } } };
  return (
    statusOf(error) === 403 && body?.error?.message?.endsWith(REFUSAL) === true
  );
}

function statusOf(error: unknown): unknown {
  return (error as { statusCode?: unknown } | undefined)?.statusCode;
}
