import type { AppNode } from '@backstage/frontend-plugin-api';
import { useCallback } from 'react';
import { useOpenTenant } from './OpenTenantContext';

/**
 * Says of the items of the navigation whether they work in the tenant that is open:
 * `navItems.rest().filter(works)`. The page of such an item can still be opened by its
 * address; what it asks of the backend is refused there.
 *
 * @public
 */
export function useTenantNav(): (item: { node: AppNode }) => boolean {
  const open = useOpenTenant();
  return useCallback(
    ({ node }) => {
      if (!open) {
        return true;
      }
      const { pluginId } = node.spec.plugin;
      switch (pluginId) {
        case 'tenants':
          return (
            open.administers_tenants ||
            open.role === 'admin' ||
            open.own_tenants.items.some(({ role }) => role === 'admin')
          );
        case 'catalog-import':
          return open.takes_locations;
        default:
          return !open.closed_plugins.includes(pluginId);
      }
    },
    [open],
  );
}
