import type { UserInfoService } from '@backstage/backend-plugin-api';
import {
  carriedTenant,
  DEFAULT_TENANT_ID,
  type TenantOwnership,
} from 'backstage-plugin-catalog-tenancy-node';

/**
 * Makes the userInfo service return a user's ownership refs in the tenant of the credentials.
 * Those of the sign-in are of the default tenant.
 *
 * Replaces a method of the plugin's own service instance, as `carryTenants` does with the auth
 * service. For membership, the gate calls it with credentials without a tenant.
 */
export function followTenant(
  userInfo: UserInfoService,
  ownership: TenantOwnership,
): void {
  const getUserInfo = userInfo.getUserInfo.bind(userInfo);
  userInfo.getUserInfo = async credentials => {
    const identity = await getUserInfo(credentials);
    const tenant = carriedTenant(credentials);
    return tenant && tenant.tenantId !== DEFAULT_TENANT_ID
      ? {
          ...identity,
          ownershipEntityRefs: await ownership.refsOf(tenant, identity),
        }
      : identity;
  };
}
