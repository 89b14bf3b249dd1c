import type { DiscoveryApi } from '@backstage/frontend-plugin-api';
import type { PageTenant } from './PageTenant';

/**
 * Has the addresses name the tenant of the page where the page can set no header: those of signals,
 * whose client opens a WebSocket, and of TechDocs, whose documents have images. Where the open tenant
 * has no signals, their client waits for an address for ever, and opens none.
 */
export function createTenantDiscovery(
  discoveryApi: DiscoveryApi,
  pageTenant: Pick<PageTenant, 'slug' | 'closedPlugins'>,
): DiscoveryApi {
  return {
    async getBaseUrl(pluginId) {
      const { slug, closedPlugins } = pageTenant;
      if (pluginId === 'signals' && closedPlugins.includes(pluginId)) {
        return new Promise(() => {});
      }
      const url = await discoveryApi.getBaseUrl(pluginId);
      const encoded = slug && encodeURIComponent(slug);
      if (encoded && pluginId === 'signals') {
        return `${url}?tenant=${encoded}`;
      }
      return encoded && encoded !== 'default' && pluginId === 'techdocs'
        ? `${url}/.tenant/${encoded}`
        : url;
    },
  };
}
