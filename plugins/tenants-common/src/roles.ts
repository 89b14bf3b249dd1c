import type { Permission } from '@backstage/plugin-permission-common';
import {
  tenantCreatePermission,
  tenantDeletePermission,
  tenantReadPermission,
  tenantUpdatePermission,
} from './permissions';

/**
 * The roles that a member of a tenant can have, the lower first.
 *
 * @public
 */
export const TENANT_ROLES = ['viewer', 'member', 'admin'] as const;

/**
 * What a member may do in a tenant: a `viewer` reads, a `member` also changes what the portal's
 * policy lets people change, and an `admin` administers the tenant as well.
 *
 * @public
 */
export type TenantRole = (typeof TENANT_ROLES)[number];

/**
 * The role that counts for somebody who has several, as a user and by groups; nothing for one who
 * has none.
 *
 * @public
 */
export function highestRole(
  roles: readonly TenantRole[],
): TenantRole | undefined {
  return TENANT_ROLES.findLast(role => roles.includes(role));
}

/** They are about the registry of all tenants, and decided by the portal's policy alone. */
const OF_THE_PORTAL = new Set(
  [
    tenantReadPermission,
    tenantCreatePermission,
    tenantUpdatePermission,
    tenantDeletePermission,
  ].map(({ name }) => name),
);

/** What other plugins have that concerns everybody in a tenant. */
const OF_ADMINS = new Set(['mockup.page.home', 'mockup.review.require']);

/**
 * Whether a role leaves it to the portal's policy to allow what a permission is for; otherwise it is
 * denied in the tenant, whatever the policy says. It holds for every permission, also for those of
 * plugins that this package does not know.
 *
 * @public
 */
export function isWithinRole(
  role: TenantRole,
  { name, attributes }: Pick<Permission, 'name' | 'attributes'>,
): boolean {
  if (OF_THE_PORTAL.has(name)) {
    return true;
  }
  if (name.startsWith('tenancy.') || OF_ADMINS.has(name)) {
    return role === 'admin';
  }
  return role !== 'viewer' || attributes.action === 'read';
}
