import type { BasicPermission } from '@backstage/plugin-permission-common';
import { nameOf } from '../authorization/Administrators';
import type { TenantAdmins } from '../authorization/TenantAdmins';
import type { Access } from './operations';

/** A caller who may change the members of a tenant, or invite members. */
export interface MemberAdmin {
  by: string;
  keepAdmin: boolean;
}

/**
 * Allows an operation to administrators of all tenants, and to admins of the tenant in the
 * path.
 */
export const memberAccess =
  (tenantAdmins: TenantAdmins) =>
  (permission: BasicPermission): Access<MemberAdmin> => ({
    changes: permission.attributes.action !== 'read',
    check: async (credentials, { params }) => ({
      by: nameOf(credentials),
      ...(await tenantAdmins.assertMay(
        credentials,
        permission,
        params.slug,
        'the members',
      )),
    }),
  });
