import {
  type BackendFeature,
  coreServices,
  createBackendFeatureLoader,
  createBackendModule,
} from '@backstage/backend-plugin-api';
import {
  authProvidersExtensionPoint,
  createOAuthRouteHandlers,
} from '@backstage/plugin-auth-node';
import { catalogServiceRef } from '@backstage/plugin-catalog-node';
import {
  tenantMembersServiceRef,
  tenantMemberStoreServiceRef,
  tenantSignInStoreServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
import { SignInConfig } from './SignInConfig';
import { tenantAuthenticator, withTenantOf } from './tenantAuthenticator';
import { TenantClients } from './TenantClients';
import { TenantPeople } from './TenantPeople';

/** The provider `tenant` of the auth plugin. */
const tenantProviderModule = createBackendModule({
  pluginId: 'auth',
  moduleId: 'tenant-provider',
  register(env) {
    env.registerInit({
      deps: {
        auth: coreServices.auth,
        catalog: catalogServiceRef,
        logger: coreServices.logger,
        members: tenantMembersServiceRef,
        memberStore: tenantMemberStoreServiceRef,
        providers: authProvidersExtensionPoint,
        rootConfig: coreServices.rootConfig,
        signIns: tenantSignInStoreServiceRef,
      },
      async init(deps) {
        const { logger, providers, signIns } = deps;
        const config = new SignInConfig(deps.rootConfig);
        const people = new TenantPeople({ ...deps, config });
        providers.registerProvider({
          providerId: 'tenant',
          factory: options =>
            createOAuthRouteHandlers({
              ...options,
              authenticator: tenantAuthenticator({
                clients: new TenantClients({ signIns, config }),
                key: config.key,
                logger,
              }),
              stateTransform: withTenantOf,
              async signInResolver({ result }, context) {
                const sub = await people.admit(result.fullProfile);
                return context.issueToken({ claims: { sub, ent: [sub] } });
              },
            }),
        });
      },
    });
  },
});

/**
 * Signs people in by the OpenID provider of their tenant, which the registry has. Without
 * `auth.providers.tenant` in app-config it does nothing.
 *
 * ```ts
 * backend.add(tenantSignIn);
 * ```
 *
 * @public
 */
export const tenantSignIn: BackendFeature = createBackendFeatureLoader({
  deps: { config: coreServices.rootConfig },
  loader: ({ config }) =>
    SignInConfig.isSwitchedOn(config) ? [tenantProviderModule] : [],
});
