import {
  type AuthConnector,
  OAuth2,
  type OAuth2Session,
} from '@backstage/core-app-api';
import { ResponseError } from '@backstage/errors';
import {
  ApiBlueprint,
  type BackstageIdentityApi,
  configApiRef,
  type ConfigApi,
  createApiRef,
  type DiscoveryApi,
  discoveryApiRef,
  oauthRequestApiRef,
  type OpenIdConnectApi,
  type ProfileInfoApi,
  type SessionApi,
  useApi,
} from '@backstage/frontend-plugin-api';
import { useState } from 'react';
import {
  type Answer,
  TenantConnector,
  tenantOfHost,
  toSession,
} from './TenantConnector';

/** The users of a portal in development: they sign in without a password. */
const GUESTS = { anna: 'Anna', peter: 'Peter', guest: 'Administrator' };

/** Which of them is signed in at this origin. */
const STORAGE_KEY = 'portal:guest';

/** What all ways to sign in have in common. */
type SignInApi = ProfileInfoApi & BackstageIdentityApi & SessionApi;

/** A way to sign in that is configured. */
export type SignInProvider = {
  id: keyof typeof GUESTS | 'oidc' | 'tenant';
  auth: SignInApi;
  /** Whether this browser knows of a session that should go on. */
  isRemembered?: () => boolean;
};

/** Whether these are sessions of a provider that speaks OpenID Connect; guests otherwise. */
export function isOpenId(id: SignInProvider['id']): id is 'oidc' | 'tenant' {
  return id === 'oidc' || id === 'tenant';
}

/** Sessions of a provider that speaks OpenID Connect: `auth.providers.oidc`. */
export const oidcAuthApiRef = createApiRef<OpenIdConnectApi & SignInApi>({
  id: 'auth.oidc',
});

export const oidcAuthApi = ApiBlueprint.make({
  name: 'auth.oidc',
  params: defineParams =>
    defineParams({
      api: oidcAuthApiRef,
      deps: {
        configApi: configApiRef,
        discoveryApi: discoveryApiRef,
        oauthRequestApi: oauthRequestApiRef,
      },
      factory: ({ configApi, discoveryApi, oauthRequestApi }) =>
        OAuth2.create({
          configApi,
          discoveryApi,
          oauthRequestApi,
          environment: configApi.getOptionalString('auth.environment'),
          provider: {
            id: 'oidc',
            title: 'OpenID Connect',
            icon: () => null,
          },
          defaultScopes: ['openid', 'profile', 'email'],
        }),
    }),
});

/**
 * The sessions of one guest. What a cookie is to other providers, an entry of the browser's
 * storage is to this one: with it, the session comes back after a reload.
 */
class GuestConnector implements AuthConnector<OAuth2Session> {
  readonly #id: keyof typeof GUESTS;
  readonly #discoveryApi: DiscoveryApi;

  constructor(id: keyof typeof GUESTS, discoveryApi: DiscoveryApi) {
    this.#id = id;
    this.#discoveryApi = discoveryApi;
  }

  async createSession(options: { instantPopup?: boolean }) {
    // Without a click it is a session that goes on, which another tab may have ended.
    if (!options.instantPopup) {
      return this.refreshSession();
    }
    const session = await this.#fetchSession();
    localStorage.setItem(STORAGE_KEY, this.#id);
    return session;
  }

  async refreshSession() {
    if (localStorage.getItem(STORAGE_KEY) !== this.#id) {
      throw new Error('You have signed out. Reload the page to sign in.');
    }
    return this.#fetchSession();
  }

  async removeSession() {
    localStorage.removeItem(STORAGE_KEY);
  }

  async #fetchSession(): Promise<OAuth2Session> {
    const baseUrl = await this.#discoveryApi.getBaseUrl('auth');
    const response = await fetch(`${baseUrl}/${this.#id}/refresh`, {
      headers: { 'X-Requested-With': 'XMLHttpRequest' },
      credentials: 'include',
    });
    if (!response.ok) {
      throw await ResponseError.fromResponse(response);
    }
    const answer: Answer = await response.json();
    const profile = { displayName: GUESTS[this.#id], ...answer.profile };
    return toSession({ ...answer, profile });
  }
}

/**
 * The ways to sign in that work here: those which the backend has configured, and guests in
 * development only, because the backend has none elsewhere.
 */
export function useSignInProviders(): SignInProvider[] {
  const configApi = useApi(configApiRef);
  const discoveryApi = useApi(discoveryApiRef);
  const oidc = useApi(oidcAuthApiRef);
  const guestIds = Object.keys(GUESTS) as Array<keyof typeof GUESTS>;
  const [providers] = useState((): SignInProvider[] => [
    ...providersOfTenant(configApi, discoveryApi),
    ...(isConfigured(configApi, 'oidc')
      ? [{ id: 'oidc' as const, auth: oidc }]
      : []),
    ...(isDevelopment(configApi) ? guestIds : [])
      .filter(id => isConfigured(configApi, id))
      .map(id => ({
        id,
        auth: OAuth2.create({
          authConnector: new GuestConnector(id, discoveryApi),
        }),
        isRemembered: () => localStorage.getItem(STORAGE_KEY) === id,
      })),
  ]);
  return providers;
}

/** At the hostname of a tenant, the one that the tenant may have brought. */
function providersOfTenant(
  configApi: ConfigApi,
  discoveryApi: DiscoveryApi,
): SignInProvider[] {
  const tenant = tenantOfHost(
    configApi.getOptionalStringArray('tenancy.baseDomains') ?? [],
    window.location,
  );
  if (tenant === undefined || !isConfigured(configApi, 'tenant')) {
    return [];
  }
  const environment = configApi.getOptionalString('auth.environment');
  return [
    {
      id: 'tenant',
      auth: OAuth2.create({
        authConnector: new TenantConnector({
          discoveryApi,
          tenant,
          environment: environment ?? 'development',
        }),
      }),
    },
  ];
}

function isConfigured(configApi: ConfigApi, id: SignInProvider['id']) {
  return configApi.has(`auth.providers.${id}`);
}

function isDevelopment(configApi: ConfigApi) {
  const environment = configApi.getOptionalString('auth.environment');
  return (environment ?? 'development') === 'development';
}
