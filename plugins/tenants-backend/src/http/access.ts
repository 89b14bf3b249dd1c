import type { BasicPermission } from '@backstage/plugin-permission-common';
import { type Administrators, nameOf } from '../authorization/Administrators';
import type { TenantAdmins } from '../authorization/TenantAdmins';
import type { Access } from './operations';

/** Allows operations to administrators of all tenants. */
export const administratorAccess =
  (administrators: Administrators) =>
  (permission: BasicPermission): Access<{ by: string }> => ({
    changes: permission.attributes.action !== 'read',
    check: async credentials => {
      await administrators.assertMay(credentials, permission);
      return { by: nameOf(credentials) };
    },
  });

/**
 * Allows operations to administrators of all tenants, and to admins of the tenant in the path.
 *
 * @param what - the part of the tenant, for the error
 */
export const tenantAdminAccess =
  (
    tenantAdmins: TenantAdmins,
    what: Parameters<TenantAdmins['assertMay']>[3],
  ) =>
  (
    permission: BasicPermission,
  ): Access<{ by: string; keepAdmin: boolean; whileAdmin?: string[] }> => ({
    changes: permission.attributes.action !== 'read',
    check: async (credentials, { params }) => ({
      by: nameOf(credentials),
      ...(await tenantAdmins.assertMay(
        credentials,
        permission,
        params.slug,
        what,
      )),
    }),
  });
