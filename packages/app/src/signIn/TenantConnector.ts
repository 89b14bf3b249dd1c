import {
  type AuthConnector,
  type OAuth2Session,
  openLoginPopup,
} from '@backstage/core-app-api';
import { ResponseError } from '@backstage/errors';
import type {
  BackstageUserIdentity,
  DiscoveryApi,
  ProfileInfo,
} from '@backstage/frontend-plugin-api';

/** What the auth plugin answers, in a window or to a refresh. */
export interface Answer {
  profile: ProfileInfo;
  backstageIdentity: {
    token: string;
    identity: BackstageUserIdentity;
    expiresInSeconds?: number;
  };
}

/**
 * The slug of the tenant whose hostname a page is at: one label below a base domain.
 *
 * `app.baseUrl` does not tell it: Backstage puts the host of the page into that.
 */
export function tenantOfHost(
  baseDomains: string[],
  { hostname }: Pick<Location, 'hostname'>,
): string | undefined {
  return baseDomains
    .map(domain => `.${domain.toLowerCase()}`)
    .filter(end => hostname.endsWith(end))
    .map(end => hostname.slice(0, -end.length))
    .find(label => /^[a-z0-9-]+$/.test(label) && label !== 'www');
}

/** Sessions by the OpenID provider of a tenant. They carry no token of the provider. */
export class TenantConnector implements AuthConnector<OAuth2Session> {
  readonly #discoveryApi: DiscoveryApi;
  readonly #query: Record<string, string>;

  constructor(options: {
    discoveryApi: DiscoveryApi;
    tenant: string;
    environment: string;
  }) {
    this.#discoveryApi = options.discoveryApi;
    this.#query = { tenant: options.tenant, env: options.environment };
  }

  async createSession(options: { instantPopup?: boolean }) {
    // Without a click the browser opens no window.
    if (!options.instantPopup) {
      return this.refreshSession();
    }
    const answer = await openLoginPopup({
      url: await this.#url('start', { origin: window.location.origin }),
      name: 'Sign in',
      width: 450,
      height: 730,
    });
    return toSession(answer as Answer);
  }

  async refreshSession() {
    const response = await this.#send('refresh', { optional: '' });
    return toSession(await response.json());
  }

  async removeSession() {
    await this.#send('logout', {}, 'POST');
  }

  async #send(
    route: string,
    query: Record<string, string>,
    method = 'GET',
  ): Promise<Response> {
    const response = await fetch(await this.#url(route, query), {
      method,
      headers: { 'X-Requested-With': 'XMLHttpRequest' },
      credentials: 'include',
    });
    if (!response.ok) {
      throw await ResponseError.fromResponse(response);
    }
    return response;
  }

  async #url(route: string, query: Record<string, string>): Promise<string> {
    const baseUrl = await this.#discoveryApi.getBaseUrl('auth');
    const search = new URLSearchParams({ ...this.#query, ...query });
    return `${baseUrl}/tenant/${route}?${search}`;
  }
}

/** Such a session, which carries no token of the provider. */
export function toSession({
  profile,
  backstageIdentity,
}: Answer): OAuth2Session {
  const { token, identity, expiresInSeconds } = backstageIdentity;
  return {
    profile,
    providerInfo: { idToken: '', accessToken: '', scopes: new Set() },
    backstageIdentity: {
      token,
      identity,
      expiresAt:
        expiresInSeconds === undefined
          ? undefined
          : new Date(Date.now() + expiresInSeconds * 1000),
    },
  };
}
