import type { OpenTenant } from 'backstage-plugin-tenants-common';

/** Requests that name no tenant belong to it. */
export const DEFAULT_TENANT_SLUG = 'default';

/**
 * The address of the first page of a tenant, where tenants have hostnames; nothing where the
 * header names them.
 *
 * @param location - of the page
 * @param basePath - of the app, with a slash at the end
 */
export function tenantAddress(
  slug: string,
  open: Pick<OpenTenant, 'base_domain' | 'named_by' | 'tenant_slug'>,
  location: Pick<Location, 'hostname' | 'port' | 'protocol'>,
  basePath: string,
): string | undefined {
  const baseDomain = ownBaseDomain(open, location) ?? open.base_domain;
  if (baseDomain === null) {
    return undefined;
  }
  const host =
    slug === DEFAULT_TENANT_SLUG ? baseDomain : `${slug}.${baseDomain}`;
  const port = location.port && `:${location.port}`;
  return `${location.protocol}//${host}${port}${basePath}`;
}

/** That of this page: there may be several, and none has to be configured. */
function ownBaseDomain(
  { named_by, tenant_slug }: Pick<OpenTenant, 'named_by' | 'tenant_slug'>,
  { hostname }: Pick<Location, 'hostname'>,
): string | undefined {
  const start = `${tenant_slug}.`;
  return ['hostname', 'origin'].includes(named_by) && hostname.startsWith(start)
    ? hostname.slice(start.length)
    : undefined;
}
