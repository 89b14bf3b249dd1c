import type { TenantRole } from './types';

/**
 * The roles that a member of a tenant can have, the lower first.
 *
 * @public
 */
export const TENANT_ROLES = [
  'viewer',
  'member',
  'admin',
] as const satisfies readonly TenantRole[];

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
