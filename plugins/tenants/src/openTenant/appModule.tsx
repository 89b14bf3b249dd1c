import {
  createFetchApi,
  FetchMiddlewares,
  FrontendHostDiscovery,
} from '@backstage/core-app-api';
import {
  ApiBlueprint,
  configApiRef,
  createFrontendModule,
  discoveryApiRef,
  errorApiRef,
  fetchApiRef,
  identityApiRef,
  storageApiRef,
} from '@backstage/frontend-plugin-api';
import { AppRootWrapperBlueprint } from '@backstage/plugin-app-react';
import { createTenantDiscovery } from './createTenantDiscovery';
import { createTenantFetchMiddleware } from './createTenantFetchMiddleware';
import { OpenTenantRoot } from './OpenTenantRoot';
import {
  BrowserPageTenant,
  createTenantStorage,
  pageTenantApiRef,
} from './PageTenant';

/** Makes an app one of the tenant that is open in its page. */
export const openTenantModule = createFrontendModule({
  pluginId: 'app',
  extensions: [
    ApiBlueprint.make({
      name: 'page-tenant',
      params: defineParams =>
        defineParams({
          api: pageTenantApiRef,
          deps: {},
          factory: () => new BrowserPageTenant(),
        }),
    }),
    // These two as the app plugin makes them, with the tenant.
    ApiBlueprint.make({
      name: 'discovery',
      params: defineParams =>
        defineParams({
          api: discoveryApiRef,
          deps: { configApi: configApiRef, pageTenant: pageTenantApiRef },
          factory: ({ configApi, pageTenant }) =>
            createTenantDiscovery(
              FrontendHostDiscovery.fromConfig(configApi),
              pageTenant,
            ),
        }),
    }),
    ApiBlueprint.make({
      name: 'fetch',
      params: defineParams =>
        defineParams({
          api: fetchApiRef,
          deps: {
            configApi: configApiRef,
            discoveryApi: discoveryApiRef,
            identityApi: identityApiRef,
            pageTenant: pageTenantApiRef,
          },
          factory: ({ configApi, discoveryApi, identityApi, pageTenant }) =>
            createFetchApi({
              middleware: [
                FetchMiddlewares.resolvePluginProtocol({ discoveryApi }),
                createTenantFetchMiddleware({ configApi, pageTenant }),
                FetchMiddlewares.injectIdentityAuth({
                  identityApi,
                  config: configApi,
                }),
              ],
            }),
        }),
    }),
    ApiBlueprint.make({
      name: 'storage',
      params: defineParams =>
        defineParams({
          api: storageApiRef,
          deps: { errorApi: errorApiRef, pageTenant: pageTenantApiRef },
          factory: createTenantStorage,
        }),
    }),
    AppRootWrapperBlueprint.make({
      name: 'open-tenant',
      params: { component: OpenTenantRoot },
    }),
  ],
});
