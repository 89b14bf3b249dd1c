import type { DiscoveryApi } from '@backstage/frontend-plugin-api';
import type { PageTenant } from './PageTenant';

/**
 * Has the addresses name the tenant of the page where the page can set no header: those of signals,
 * whose client opens a WebSocket, and of TechDocs, whose documents have images.
 */
export function createTenantDiscovery(
  discoveryApi: DiscoveryApi,
  { slug }: Pick<PageTenant, 'slug'>,
): DiscoveryApi {
  return {
    async getBaseUrl(pluginId) {
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
