import { HttpClient, readPage, toSearch } from '@internal/http-client';
import type {
  AcceptInvitation,
  CatalogConfig,
  CatalogPrincipal,
  CreatedInvitation,
  CreatedTenant,
  CreateInvitation,
  CreateTenant,
  FindPrincipals,
  ListMembers,
  ListTenantAudit,
  ListTenantUsage,
  ListTenants,
  ListTenantSummaries,
  Membership,
  OpenTenant,
  Page,
  PutMember,
  PutTenantSignIn,
  ReadCatalogConfig,
  CreateShare,
  TenantShare,
  TenantShares,
  UpdateShare,
  Tenant,
  TenantAuditPage,
  TenantEngine,
  TenantInvitation,
  TenantMember,
  TenantSignIn,
  TenantStatus,
  TenantSummary,
  TenantUsage,
  TenantUsageDay,
  UpdateTenant,
} from '../types';
import type {
  TenantsApi,
  TenantsRequestOptions,
  TenantsWriteOptions,
} from './TenantsApi';

/**
 * Calls the registry of tenants over HTTP, from a frontend or from another backend.
 *
 * @public
 */
export class TenantsClient implements TenantsApi {
  readonly #http: HttpClient;

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
    this.#http = new HttpClient('tenants', options);
  }

  /** {@inheritdoc TenantsApi.listOwnTenants} */
  async listOwnTenants(
    query: ListMembers = {},
    options?: TenantsRequestOptions,
  ): Promise<Page<Membership>> {
    return readPage(await this.#http.fetch(`/mine${toSearch(query)}`, options));
  }

  /** {@inheritdoc TenantsApi.getOpenTenant} */
  async getOpenTenant(options?: TenantsRequestOptions): Promise<OpenTenant> {
    return this.#http.json('/mine/current', options);
  }

  /** {@inheritdoc TenantsApi.listTenants} */
  async listTenants(
    query: ListTenants = {},
    options?: TenantsRequestOptions,
  ): Promise<Page<Tenant>> {
    return readPage(await this.#http.fetch(toSearch(query), options));
  }

  /** {@inheritdoc TenantsApi.listTenantSummaries} */
  async listTenantSummaries(
    query: ListTenantSummaries = {},
    options?: TenantsRequestOptions,
  ): Promise<Page<TenantSummary>> {
    const path = toSearch({ ...query, summary: true });
    return readPage(await this.#http.fetch(path, options));
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
  ): Promise<CreatedTenant> {
    return this.#http.json('', { ...options, method: 'POST', body: request });
  }

  /** {@inheritdoc TenantsApi.updateTenant} */
  async updateTenant(
    slug: string,
    request: UpdateTenant,
    options?: TenantsRequestOptions,
  ): Promise<Tenant> {
    return this.#http.json(tenantPath(slug), {
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
    await this.#http.fetch(tenantPath(slug), { ...options, method: 'DELETE' });
  }

  /** {@inheritdoc TenantsApi.restoreTenant} */
  async restoreTenant(
    slug: string,
    options?: TenantsRequestOptions,
  ): Promise<Tenant> {
    return this.#http.json(`${tenantPath(slug)}/restore`, {
      ...options,
      method: 'POST',
    });
  }

  /** {@inheritdoc TenantsApi.getTenantUsage} */
  async getTenantUsage(
    slug: string,
    options?: TenantsRequestOptions,
  ): Promise<TenantUsage> {
    return this.#http.json(`${tenantPath(slug)}/usage`, options);
  }

  /** {@inheritdoc TenantsApi.listUsage} */
  async listUsage(
    slug: string,
    query: ListTenantUsage = {},
    options?: TenantsRequestOptions,
  ): Promise<TenantUsageDay[]> {
    return this.#http.json(
      `${tenantPath(slug)}/usage${toSearch({ ...query, format: 'json' })}`,
      options,
    );
  }

  /** {@inheritdoc TenantsApi.listAudit} */
  async listAudit(
    slug: string,
    query: ListTenantAudit = {},
    options?: TenantsRequestOptions,
  ): Promise<TenantAuditPage> {
    return this.#http.json(
      `${tenantPath(slug)}/audit${toSearch(query)}`,
      options,
    );
  }

  /** {@inheritdoc TenantsApi.listShares} */
  async listShares(
    slug: string,
    options?: TenantsRequestOptions,
  ): Promise<TenantShares> {
    return this.#http.json(sharePath(slug), options);
  }

  /** {@inheritdoc TenantsApi.createShare} */
  async createShare(
    slug: string,
    request: CreateShare,
    options?: TenantsRequestOptions,
  ): Promise<TenantShare> {
    return this.#http.json(sharePath(slug), {
      ...options,
      method: 'POST',
      body: request,
    });
  }

  /** {@inheritdoc TenantsApi.updateShare} */
  async updateShare(
    slug: string,
    shareId: string,
    request: UpdateShare,
    options?: TenantsRequestOptions,
  ): Promise<TenantShare> {
    return this.#http.json(sharePath(slug, shareId), {
      ...options,
      method: 'PATCH',
      body: request,
    });
  }

  /** {@inheritdoc TenantsApi.deleteShare} */
  async deleteShare(
    slug: string,
    shareId: string,
    options?: TenantsRequestOptions,
  ): Promise<void> {
    await this.#http.fetch(sharePath(slug, shareId), {
      ...options,
      method: 'DELETE',
    });
  }

  /** {@inheritdoc TenantsApi.listMembers} */
  async listMembers(
    slug: string,
    query: ListMembers = {},
    options?: TenantsRequestOptions,
  ): Promise<Page<TenantMember>> {
    const path = `${tenantPath(slug)}/members${toSearch(query)}`;
    return readPage(await this.#http.fetch(path, options));
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
    return this.#http.json(memberPath(slug, principal), {
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
    await this.#http.fetch(path, { ...options, method: 'DELETE' });
  }

  /** {@inheritdoc TenantsApi.listInvitations} */
  async listInvitations(
    slug: string,
    query: ListMembers = {},
    options?: TenantsRequestOptions,
  ): Promise<Page<TenantInvitation>> {
    const path = `${invitationsPath(slug)}${toSearch(query)}`;
    return readPage(await this.#http.fetch(path, options));
  }

  /** {@inheritdoc TenantsApi.createInvitation} */
  async createInvitation(
    slug: string,
    request: CreateInvitation,
    options?: TenantsRequestOptions,
  ): Promise<CreatedInvitation> {
    return this.#http.json(invitationsPath(slug), {
      ...options,
      method: 'POST',
      body: request,
    });
  }

  /** {@inheritdoc TenantsApi.revokeInvitation} */
  async revokeInvitation(
    slug: string,
    id: string,
    options?: TenantsRequestOptions,
  ): Promise<void> {
    const path = `${invitationsPath(slug)}/${encodeURIComponent(id)}`;
    await this.#http.fetch(path, { ...options, method: 'DELETE' });
  }

  /** {@inheritdoc TenantsApi.acceptInvitation} */
  async acceptInvitation(
    request: AcceptInvitation,
    options?: TenantsRequestOptions,
  ): Promise<Membership> {
    return this.#http.json('/mine/accepted-invitations', {
      ...options,
      method: 'POST',
      body: request,
    });
  }

  /** {@inheritdoc TenantsApi.getSignIn} */
  async getSignIn(
    slug: string,
    options?: TenantsRequestOptions,
  ): Promise<TenantSignIn | undefined> {
    const path = `${tenantPath(slug)}/sign-in`;
    const signIn = await this.#http.json<TenantSignIn | null>(path, options);
    return signIn ?? undefined;
  }

  /** {@inheritdoc TenantsApi.putSignIn} */
  async putSignIn(
    slug: string,
    request: PutTenantSignIn,
    options?: TenantsRequestOptions,
  ): Promise<TenantSignIn> {
    return this.#http.json(`${tenantPath(slug)}/sign-in`, {
      ...options,
      method: 'PUT',
      body: request,
    });
  }

  /** {@inheritdoc TenantsApi.removeSignIn} */
  async removeSignIn(
    slug: string,
    options?: TenantsRequestOptions,
  ): Promise<void> {
    const path = `${tenantPath(slug)}/sign-in`;
    await this.#http.fetch(path, { ...options, method: 'DELETE' });
  }

  /** {@inheritdoc TenantsApi.findPrincipals} */
  async findPrincipals(
    slug: string,
    { principals: principal, ...query }: FindPrincipals = {},
    options?: TenantsRequestOptions,
  ): Promise<Page<CatalogPrincipal>> {
    const search = toSearch({ ...query, principal });
    const path = `${tenantPath(slug)}/principals${search}`;
    return readPage(await this.#http.fetch(path, options));
  }

  /** {@inheritdoc TenantsApi.getTenantStatus} */
  async getTenantStatus(
    slug: string,
    options?: TenantsRequestOptions,
  ): Promise<TenantStatus> {
    return this.#http.json(`${tenantPath(slug)}/status`, options);
  }

  /** {@inheritdoc TenantsApi.getEngine} */
  async getEngine(
    slug: string,
    options?: TenantsRequestOptions,
  ): Promise<TenantEngine | undefined> {
    return this.#getIfThere(`${tenantPath(slug)}/engine`, options);
  }

  /** {@inheritdoc TenantsApi.pauseEngine} */
  async pauseEngine(
    slug: string,
    options?: TenantsRequestOptions,
  ): Promise<TenantEngine> {
    return this.#http.json(`${tenantPath(slug)}/engine/pause`, {
      ...options,
      method: 'PUT',
    });
  }

  /** {@inheritdoc TenantsApi.resumeEngine} */
  async resumeEngine(
    slug: string,
    options?: TenantsRequestOptions,
  ): Promise<void> {
    const path = `${tenantPath(slug)}/engine/pause`;
    await this.#http.fetch(path, { ...options, method: 'DELETE' });
  }

  /** {@inheritdoc TenantsApi.getCatalogConfig} */
  async getCatalogConfig(
    slug: string,
    options?: TenantsRequestOptions,
  ): Promise<ReadCatalogConfig> {
    const path = `${tenantPath(slug)}/catalog-config`;
    return readTagged(await this.#http.fetch(path, options));
  }

  /** {@inheritdoc TenantsApi.putCatalogConfig} */
  async putCatalogConfig(
    slug: string,
    request: CatalogConfig,
    options?: TenantsWriteOptions,
  ): Promise<ReadCatalogConfig> {
    const path = `${tenantPath(slug)}/catalog-config`;
    return readTagged(
      await this.#http.fetch(path, {
        ...options,
        method: 'PUT',
        body: request,
      }),
    );
  }

  async #getIfThere<T>(
    path: string,
    options?: TenantsRequestOptions,
  ): Promise<T | undefined> {
    const response = await this.#http.fetchIfThere(path, options);
    return response?.json();
  }
}

/**
 * Reads what an answer has, and the entity tag of that. The plugin sends strong tags alone: a
 * weak one is of a proxy that compresses answers, and would never match (RFC 9110, 13.1.1).
 */
async function readTagged<T extends object>(
  response: Response,
): Promise<T & { etag?: string }> {
  const etag = response.headers.get('ETag')?.replace(/^W\//, '');
  return { ...(await response.json()), ...(etag && { etag }) };
}

function tenantPath(slug: string): string {
  return `/${encodeURIComponent(slug)}`;
}

function invitationsPath(slug: string): string {
  return `${tenantPath(slug)}/invitations`;
}

function memberPath(slug: string, principal: string): string {
  return `${tenantPath(slug)}/members/${encodeURIComponent(principal)}`;
}

function sharePath(slug: string, shareId?: string): string {
  const path = `${tenantPath(slug)}/shares`;
  return shareId === undefined
    ? path
    : `${path}/${encodeURIComponent(shareId)}`;
}
