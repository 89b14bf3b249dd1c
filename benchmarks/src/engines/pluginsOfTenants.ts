import type { BackendFeature } from '@backstage/backend-plugin-api';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What the plugins below do not start without. */
export const CONFIG_OF_PLUGINS = {
  kubernetes: {
    serviceLocatorMethod: { type: 'multiTenant' },
    clusterLocatorMethods: [{ type: 'catalog' }],
  },
  techdocs: {
    builder: 'external',
    publisher: {
      type: 'local',
      local: { publishDirectory: join(tmpdir(), 'benchmark-techdocs') },
    },
  },
};

/** By the id of the plugin, what each tenant has of it: all that `onePerTenant` takes. */
export const pluginsOfTenants = (): Record<
  string,
  Promise<{ default: BackendFeature }>[]
> => ({
  events: [import('@backstage/plugin-events-backend')],
  kubernetes: [import('@backstage/plugin-kubernetes-backend')],
  'mcp-actions': [import('@backstage/plugin-mcp-actions-backend')],
  notifications: [import('@backstage/plugin-notifications-backend')],
  proxy: [import('@backstage/plugin-proxy-backend')],
  scaffolder: [import('@backstage/plugin-scaffolder-backend')],
  search: [
    import('@backstage/plugin-search-backend'),
    import('@backstage/plugin-search-backend-module-pg'),
    import('@backstage/plugin-search-backend-module-catalog'),
  ],
  signals: [import('@backstage/plugin-signals-backend')],
  techdocs: [import('@backstage/plugin-techdocs-backend')],
  'user-settings': [import('@backstage/plugin-user-settings-backend')],
});

/** The first request of a page to a plugin, which makes the instance. */
export const FIRST_REQUESTS = [
  'kubernetes/clusters',
  'notifications/notifications',
  'scaffolder/v2/actions',
  'search/query?term=app',
  'techdocs/metadata/techdocs/default/component/app',
  'user-settings/buckets/starredEntities/keys/entityRefs',
];
