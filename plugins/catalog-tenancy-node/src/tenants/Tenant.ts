export type { Tenant, TenantUsage } from 'backstage-plugin-tenants-common';

/**
 * The tenant that the migration creates, and that owns all that was there before.
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
 * Whether a text can be the slug of a tenant at all (specification B.1). Whether
 * there is such a tenant is another question.
 *
 * @public
 */
export function isTenantSlug(text: string): boolean {
  return SLUG.test(text);
}
