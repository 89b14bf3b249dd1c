export type { Tenant, TenantUsage } from 'backstage-plugin-tenants-common';

/**
 * The tenant that the migration creates, which owns all earlier entities.
 *
 * @public
 */
export const DEFAULT_TENANT_ID = '00000000-0000-0000-0000-000000000001';

/**
 * The slug of the default tenant.
 *
 * @public
 */
export const DEFAULT_TENANT_SLUG = 'default';

const SLUG = /^[a-z0-9-]+$/;

/**
 * Whether a text has the form of a slug (specification B.1). The tenant need not exist.
 *
 * @public
 */
export function isTenantSlug(text: string): boolean {
  return SLUG.test(text);
}
