import {
  type BackendFeature,
  coreServices,
  createBackendFeatureLoader,
  createBackendModule,
} from '@backstage/backend-plugin-api';
import {
  type AuthProviderFactory,
  authProvidersExtensionPoint,
  type AuthProviderRouteHandlers,
  createOAuthRouteHandlers,
  sendWebMessageResponse,
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
        auditor: coreServices.auditor,
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
          factory: options => {
            const handlers = createOAuthRouteHandlers({
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
            });
            return withToldErrors(handlers, options);
          },
        });
      },
    });
  },
});

/**
 * Makes the sign-in window pass an error to the page and close. Backstage would show the error
 * as JSON in the window, and the page would only learn that it was closed.
 */
function withToldErrors(
  handlers: AuthProviderRouteHandlers,
  options: Parameters<AuthProviderFactory>[0],
): AuthProviderRouteHandlers {
  return {
    ...handlers,
    async start(req, res) {
      try {
        await handlers.start(req, res);
      } catch (error) {
        const { name, message } = error as Error;
        const origin = String(req.query.origin);
        sendWebMessageResponse(
          res,
          options.isOriginAllowed(origin)
            ? origin
            : new URL(options.appUrl).origin,
          {
            type: 'authorization_response',
            error: { name, message },
          },
        );
      }
    },
  };
}

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
