import type { AuthService } from '@backstage/backend-plugin-api';
import { NotAllowedError } from '@backstage/errors';
import {
  carriedTenant,
  currentTenant,
  DEFAULT_TENANT_ID,
} from 'backstage-plugin-catalog-tenancy-node';
import { issueFor } from './callTokens';

/**
 * Has the calls of a plugin be for the tenant that their credentials carry, and for the
 * default tenant where they carry none.
 *
 * The context of the request never decides for which tenant a call is: a queue, a loader
 * that collects what several requests ask for, or a timer that the first of them started
 * runs in the context of one and serves all. It only refuses: a call of a tenant-aware
 * plugin that is for another tenant than the request would show that what it is not to see.
 *
 * This changes the auth service of the plugin, which Backstage makes for it alone: there
 * is no way to put a decorator around a service, and another factory would take the place
 * of the operator's.
 *
 * @param isShared - whether a plugin holds nothing of any tenant
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
          'Expected the credentials of the request, or those that withTenantOf(request, credentials) returns',
      );
    }
    return tenant && tenantId !== DEFAULT_TENANT_ID
      ? issueFor(tenant.tenantSlug, () => issue(options))
      : issue(options);
  };
}
