import { ResponseError } from '@backstage/errors';
import type { OpenTenant } from 'backstage-plugin-tenants-common';

/** A tenant that is open, as an administrator of all sees it. */
export const openTenantOf = (
  tenant_slug: string,
  more: Partial<OpenTenant> = {},
): OpenTenant => ({
  tenant_slug,
  tenant_name: tenant_slug.toUpperCase(),
  role: 'admin',
  ownership_entity_refs: [],
  administers_tenants: true,
  named_by: 'header',
  base_domain: null,
  takes_locations: true,
  closed_plugins: [],
  own_tenants: { items: [], totalItems: 0 },
  enabled: true,
  ...more,
});

/** What a request rejects with where something answers with JSON that is not in the form of Backstage. */
export const failureOf = (status: number, text: string) =>
  ResponseError.fromResponse(
    new Response(text, {
      status,
      headers: { 'Content-Type': 'application/json' },
    }),
  );
