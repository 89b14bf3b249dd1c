import {
  type AppNode,
  appTreeApiRef,
  configApiRef,
  coreExtensionData,
  useApi,
} from '@backstage/frontend-plugin-api';
import type { OpenTenant } from 'backstage-plugin-tenants-common';
import { useMemo } from 'react';
import { basePathOf } from './OpenTenantContext';

/** What stock components show of a plugin that is no link. */
const BUTTONS: Record<string, string> = {
  search: '.search-icon',
};

/**
 * Hides what leads to pages that do not work in the open tenant, in every sidebar and on every page.
 * By a style: neither a stock sidebar nor the pages of other plugins have to ask.
 */
export function ClosedLinks({ tenant }: { tenant: OpenTenant }) {
  const appTreeApi = useApi(appTreeApiRef);
  const basePath = basePathOf(useApi(configApiRef).getString('app.baseUrl'));
  const style = useMemo(() => {
    const { nodes } = appTreeApi.getTree().tree;
    const pages = nodes.get('app/routes')?.edges.attachments.get('routes');
    const selectors = (pages ?? [])
      .filter(({ spec }) => !worksIn(tenant, spec.plugin.pluginId))
      .flatMap(page => [
        ...linksTo(page, basePath),
        ...[BUTTONS[page.spec.plugin.pluginId] ?? []].flat(),
      ]);
    return selectors.length > 0
      ? `${selectors.join()} { display: none !important; }`
      : '';
  }, [appTreeApi, tenant, basePath]);
  return <style>{style}</style>;
}

function linksTo(page: AppNode, basePath: string): string[] {
  // Without the parameters at its end.
  const path = page.instance
    ?.getData(coreExtensionData.routePath)
    ?.replace(/\/:.*$/, '')
    .replace(/^\//, '');
  if (!path) {
    return [];
  }
  const address = JSON.stringify(`${basePath}${path}`).slice(0, -1);
  return [
    `a[href=${address}"]`,
    ...['/', '?', '#'].map(next => `a[href^=${address}${next}"]`),
  ];
}

/** Whether a page of a plugin works in the tenant that is open. */
export function worksIn(open: OpenTenant, pluginId: string): boolean {
  switch (pluginId) {
    case 'tenants':
      return (
        open.administers_tenants ||
        open.role === 'admin' ||
        open.own_tenants.items.some(({ role }) => role === 'admin')
      );
    case 'devtools':
      return (
        open.administers_tenants && !open.closed_plugins.includes(pluginId)
      );
    case 'catalog-import':
      return open.takes_locations;
    case 'user-settings':
      // Of its backend it needs nothing but settings, which the browser keeps otherwise.
      return true;
    default:
      return !open.closed_plugins.includes(pluginId);
  }
}
