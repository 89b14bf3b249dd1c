import type { DiscoveryApi } from '@backstage/frontend-plugin-api';
import type { PageTenant } from './PageTenant';

/**
 * Has the address of signals name the tenant of the page. Their client opens a WebSocket there, of
 * which a page can set no header.
 */
export function createTenantDiscovery(
  discoveryApi: DiscoveryApi,
  { slug }: Pick<PageTenant, 'slug'>,
): DiscoveryApi {
  return {
    async getBaseUrl(pluginId) {
      const url = await discoveryApi.getBaseUrl(pluginId);
      return pluginId === 'signals' && slug !== undefined
        ? `${url}?tenant=${encodeURIComponent(slug)}`
        : url;
    },
  };
}
