import type { AuthService } from '@backstage/backend-plugin-api';
import { NotAllowedError } from '@backstage/errors';
import {
  carriedTenant,
  currentTenant,
  DEFAULT_TENANT_ID,
} from 'backstage-plugin-catalog-tenancy-node';
import { issueFor } from './callTokens';

/**
 * Makes calls of a plugin act in the tenant of their credentials, or else in the default
 * tenant.
 *
 * The asynchronous context never selects the tenant of a call, because a queue, a batching
 * loader or a timer may run in the context of one request and serve others. The context only
 * refuses: a tenant-aware plugin must not call with another tenant than that of the current
 * request.
 *
 * Replaces a method of the plugin's own auth service instance: Backstage has no decorators of
 * services, and a factory would replace the operator's.
 *
 * @param isShared - whether a plugin has no data of tenants
 */
export function carryTenants(
  auth: AuthService,
  isShared: (pluginId: string) => boolean,
): void {
  const issue = auth.getPluginRequestToken.bind(auth);
  auth.getPluginRequestToken = async options => {
    const { onBehalfOf, targetPluginId } = options;
    const tenant = carriedTenant(onBehalfOf);
    const tenantId = tenant?.tenantId ?? DEFAULT_TENANT_ID;
    const handled = currentTenant();
    if (handled && handled.tenantId !== tenantId && !isShared(targetPluginId)) {
      throw new NotAllowedError(
        `The call to the plugin '${targetPluginId}' is not for the tenant of the request. ` +
          'Use the credentials of the request, or withTenantOf(request, credentials)',
      );
    }
    return tenant && tenantId !== DEFAULT_TENANT_ID
      ? issueFor(tenant.tenantSlug, () => issue(options))
      : issue(options);
  };
}
