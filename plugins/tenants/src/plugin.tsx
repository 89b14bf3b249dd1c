import {
  ApiBlueprint,
  createFrontendFeatureLoader,
  createFrontendPlugin,
  discoveryApiRef,
  fetchApiRef,
  PageBlueprint,
} from '@backstage/frontend-plugin-api';
import { RiBuilding2Line } from '@remixicon/react';
import { TenantsClient } from 'backstage-plugin-tenants-common';
import { tenantsApiRef } from './api';
import { catalogModule } from './catalog/catalogModule';
import { openTenantModule } from './openTenant/appModule';
import { rootRouteRef } from './routes';

const tenantsApi = ApiBlueprint.make({
  params: defineParams =>
    defineParams({
      api: tenantsApiRef,
      deps: { discoveryApi: discoveryApiRef, fetchApi: fetchApiRef },
      factory: ({ discoveryApi, fetchApi }) =>
        new TenantsClient({ discoveryApi, fetchApi }),
    }),
});

const tenantsPage = PageBlueprint.make({
  params: {
    path: '/tenants',
    routeRef: rootRouteRef,
    title: 'Tenants',
    icon: <RiBuilding2Line />,
    loader: () =>
      import('./administration/TenantsPage').then(({ TenantsPage }) => (
        <TenantsPage />
      )),
  },
});

const tenantsPlugin = createFrontendPlugin({
  pluginId: 'tenants',
  title: 'Tenants',
  info: { packageJson: () => import('../package.json') },
  routes: { root: rootRouteRef },
  extensions: [tenantsApi, tenantsPage],
});

/**
 * Everything that a portal needs to know its tenants. Add it to the features of the app:
 * `createApp({ features: [tenants] })`.
 *
 * @public
 */
export const tenants = createFrontendFeatureLoader({
  loader: () => [tenantsPlugin, openTenantModule, catalogModule],
});
