import type { BasicPermission } from '@backstage/plugin-permission-common';
import { nameOf } from '../authorization/Administrators';
import type { TenantAdmins } from '../authorization/TenantAdmins';
import type { Access } from './operations';

/** Who changes the members of a tenant, or lets people become members. */
export interface MemberAdmin {
  by: string;
  keepAdmin: boolean;
}

/**
 * Returns what lets administrators of all tenants, and those of the one that the path names, do what
 * a permission is about.
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
