import { ResponseError } from '@backstage/errors';
import type {
  CreateTenant,
  ListMembers,
  ListTenants,
  Membership,
  Page,
  PutMember,
  Tenant,
  TenantMember,
  TenantUsage,
  UpdateTenant,
} from '../types';
import type { TenantsApi, TenantsRequestOptions } from './TenantsApi';

interface TenantsFetchOptions extends TenantsRequestOptions {
  method?: string;
  body?: unknown;
}

/**
 * Calls the registry of tenants over HTTP, from a frontend or from another backend.
 *
 * @public
 */
export class TenantsClient implements TenantsApi {
  readonly #discoveryApi: { getBaseUrl(pluginId: string): Promise<string> };
  readonly #fetchApi: { fetch: typeof fetch };

  /**
   * @param options - `discoveryApi` finds the plugin (the frontend's discovery
   * API, or the backend's discovery service); `fetchApi` is the frontend's,
   * which adds the token of the signed-in user, and the platform's `fetch`
   * where none is given.
   */
  constructor(options: {
    discoveryApi: { getBaseUrl(pluginId: string): Promise<string> };
    fetchApi?: { fetch: typeof fetch };
  }) {
    this.#discoveryApi = options.discoveryApi;
    this.#fetchApi = options.fetchApi ?? { fetch };
  }

  /** {@inheritdoc TenantsApi.listOwnTenants} */
  async listOwnTenants(
    query: ListMembers = {},
    options?: TenantsRequestOptions,
  ): Promise<Page<Membership>> {
    return readPage(await this.#fetch(`/mine${toSearch(query)}`, options));
  }

  /** {@inheritdoc TenantsApi.listTenants} */
  async listTenants(
    query: ListTenants = {},
    options?: TenantsRequestOptions,
  ): Promise<Page<Tenant>> {
    return readPage(await this.#fetch(toSearch(query), options));
  }

  /** {@inheritdoc TenantsApi.getTenant} */
  async getTenant(
    slug: string,
    options?: TenantsRequestOptions,
  ): Promise<Tenant | undefined> {
    return this.#getIfThere(tenantPath(slug), options);
  }

  /** {@inheritdoc TenantsApi.createTenant} */
  async createTenant(
    request: CreateTenant,
    options?: TenantsRequestOptions,
  ): Promise<Tenant> {
    return this.#json('', { ...options, method: 'POST', body: request });
  }

  /** {@inheritdoc TenantsApi.updateTenant} */
  async updateTenant(
    slug: string,
    request: UpdateTenant,
    options?: TenantsRequestOptions,
  ): Promise<Tenant> {
    return this.#json(tenantPath(slug), {
      ...options,
      method: 'PATCH',
      body: request,
    });
  }

  /** {@inheritdoc TenantsApi.deleteTenant} */
  async deleteTenant(
    slug: string,
    options?: TenantsRequestOptions,
  ): Promise<void> {
    await this.#fetch(tenantPath(slug), { ...options, method: 'DELETE' });
  }

  /** {@inheritdoc TenantsApi.restoreTenant} */
  async restoreTenant(
    slug: string,
    options?: TenantsRequestOptions,
  ): Promise<Tenant> {
    return this.#json(`${tenantPath(slug)}/restore`, {
      ...options,
      method: 'POST',
    });
  }

  /** {@inheritdoc TenantsApi.getTenantUsage} */
  async getTenantUsage(
    slug: string,
    options?: TenantsRequestOptions,
  ): Promise<TenantUsage> {
    return this.#json(`${tenantPath(slug)}/usage`, options);
  }

  /** {@inheritdoc TenantsApi.listMembers} */
  async listMembers(
    slug: string,
    query: ListMembers = {},
    options?: TenantsRequestOptions,
  ): Promise<Page<TenantMember>> {
    const path = `${tenantPath(slug)}/members${toSearch(query)}`;
    return readPage(await this.#fetch(path, options));
  }

  /** {@inheritdoc TenantsApi.getMember} */
  async getMember(
    slug: string,
    principal: string,
    options?: TenantsRequestOptions,
  ): Promise<TenantMember | undefined> {
    return this.#getIfThere(memberPath(slug, principal), options);
  }

  /** {@inheritdoc TenantsApi.putMember} */
  async putMember(
    slug: string,
    principal: string,
    request: PutMember,
    options?: TenantsRequestOptions,
  ): Promise<TenantMember> {
    return this.#json(memberPath(slug, principal), {
      ...options,
      method: 'PUT',
      body: request,
    });
  }

  /** {@inheritdoc TenantsApi.removeMember} */
  async removeMember(
    slug: string,
    principal: string,
    options?: TenantsRequestOptions,
  ): Promise<void> {
    const path = memberPath(slug, principal);
    await this.#fetch(path, { ...options, method: 'DELETE' });
  }

  async #json<T>(path: string, options?: TenantsFetchOptions): Promise<T> {
    const response = await this.#fetch(path, options);
    return response.json();
  }

  async #getIfThere<T>(
    path: string,
    options?: TenantsFetchOptions,
  ): Promise<T | undefined> {
    const response = await this.#send(path, options);
    return response.status === 404
      ? undefined
      : (await assertOk(response)).json();
  }

  async #fetch(path: string, options?: TenantsFetchOptions): Promise<Response> {
    return assertOk(await this.#send(path, options));
  }

  async #send(path: string, options: TenantsFetchOptions = {}) {
    const { method = 'GET', body, token } = options;
    const baseUrl = await this.#discoveryApi.getBaseUrl('tenants');
    return this.#fetchApi.fetch(`${baseUrl}${path}`, {
      method,
      headers: {
        ...(token ? { Authorization: `Bearer ${token}` } : {}),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  }
}

async function assertOk(response: Response): Promise<Response> {
  if (!response.ok) {
    throw await ResponseError.fromResponse(response);
  }
  return response;
}

function tenantPath(slug: string): string {
  return `/${encodeURIComponent(slug)}`;
}

function memberPath(slug: string, principal: string): string {
  return `${tenantPath(slug)}/members/${encodeURIComponent(principal)}`;
}

function toSearch(query: ListMembers | ListTenants): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined) {
      search.set(key, String(value));
    }
  }
  const text = search.toString();
  return text && `?${text}`;
}

async function readPage<TItem>(response: Response): Promise<Page<TItem>> {
  return {
    items: await response.json(),
    totalItems: Number(response.headers.get('X-Total-Count')),
  };
}
