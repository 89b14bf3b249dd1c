import type { UserInfoService } from '@backstage/backend-plugin-api';
import {
  carriedTenant,
  DEFAULT_TENANT_ID,
  type TenantOwnership,
} from 'backstage-plugin-catalog-tenancy-node';

/**
 * Has a plugin that works for tenants learn what a user owns in the tenant that the credentials
 * carry, and not what the sign-in says, which is of the default tenant.
 *
 * This changes the service of the plugin, which Backstage makes for it alone, as `carryTenants`
 * does with the auth service. The gate, which asks who may enter, takes the tenant out of the
 * credentials first.
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
