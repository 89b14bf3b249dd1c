import { HttpClient, readPage, toSearch } from '@internal/http-client';
import type {
  AcceptInvitation,
  CatalogConfig,
  CatalogPrincipal,
  CreatedInvitation,
  CreatedTenant,
  CreateInvitation,
  CreateShare,
  CreateTenant,
  ListMembers,
  ListTenantAudit,
  ListTenants,
  ListTenantUsage,
  Membership,
  OpenTenant,
  PutMember,
  PutTenantSignIn,
  Tenant,
  TenantAuditPage,
  TenantEngine,
  TenantInvitation,
  TenantMember,
  TenantShare,
  TenantShares,
  TenantSignIn,
  TenantStatus,
  TenantSummary,
  TenantUsage,
  TenantUsageDay,
  UpdateShare,
  UpdateTenant,
} from '../schemas';
import type {
  FindPrincipals,
  ListTenantSummaries,
  Page,
  ReadCatalogConfig,
} from '../types';

/**
 * Options of every call.
 *
 * @public
 */
export interface TenantsRequestOptions {
  /** A Backstage token, if the `fetchApi` of the client adds none. */
  token?: string;
  /**
   * The tenant that the request belongs to, where neither a hostname nor a token names one;
   * otherwise the one that the `fetchApi` of the client names, or the default tenant.
   */
  tenantSlug?: string;
}

/**
 * Options of a write that must not undo what somebody else has written meanwhile.
 *
 * @public
 */
export interface TenantsWriteOptions extends TenantsRequestOptions {
  /** The `etag` of what was read: the write fails with status 412 once that has changed. */
  ifMatch?: string;
}

/**
 * The HTTP interface of the registry of tenants, of their members and engines. Every failure
 * rejects with a `ResponseError` of `@backstage/errors`, except that `getTenant`,
 * `getMember` and `getEngine` return `undefined` where there is none.
 *
 * @public
 */
export type TenantsApi = Pick<TenantsClient, keyof TenantsClient>;

/**
 * Calls the registry of tenants over HTTP, from a frontend or from another backend.
 *
 * @public
 */
export class TenantsClient {
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

  /** Lists the tenants that the caller may enter, ordered by slug. */
  async listOwnTenants(
    query: ListMembers = {},
    options?: TenantsRequestOptions,
  ): Promise<Page<Membership>> {
    return readPage(await this.#http.fetch(`/mine${toSearch(query)}`, options));
  }

  /**
   * Gets the tenant that this request belongs to. It rejects with status 403 where the
   * caller may not enter it.
   */
  async getOpenTenant(options?: TenantsRequestOptions): Promise<OpenTenant> {
    return this.#http.json('/mine/current', options);
  }

  /** Lists tenants, ordered by slug. */
  async listTenants(
    query: ListTenants = {},
    options?: TenantsRequestOptions,
  ): Promise<Page<Tenant>> {
    return readPage(await this.#http.fetch(toSearch(query), options));
  }

  /**
   * Lists tenants as {@link TenantsClient.listTenants} does, with what each holds and what feeds
   * it: at most 100 at once.
   */
  async listTenantSummaries(
    query: ListTenantSummaries = {},
    options?: TenantsRequestOptions,
  ): Promise<Page<TenantSummary>> {
    const path = toSearch({ ...query, summary: true });
    return readPage(await this.#http.fetch(path, options));
  }

  /** Gets a tenant, also a deleted one, or `undefined`. */
  async getTenant(
    slug: string,
    options?: TenantsRequestOptions,
  ): Promise<Tenant | undefined> {
    return this.#getIfThere(tenantPath(slug), options);
  }

  /** Creates a tenant. */
  async createTenant(
    request: CreateTenant,
    options?: TenantsRequestOptions,
  ): Promise<CreatedTenant> {
    return this.#http.json('', { ...options, method: 'POST', body: request });
  }

  /** Changes the name or the limits of a tenant. */
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

  /** Deletes a tenant, which keeps its rows and can be restored. */
  async deleteTenant(
    slug: string,
    options?: TenantsRequestOptions,
  ): Promise<void> {
    await this.#http.fetch(tenantPath(slug), { ...options, method: 'DELETE' });
  }

  /** Makes a deleted tenant active again. */
  async restoreTenant(
    slug: string,
    options?: TenantsRequestOptions,
  ): Promise<Tenant> {
    return this.#http.json(`${tenantPath(slug)}/restore`, {
      ...options,
      method: 'POST',
    });
  }

  /** Counts what a tenant holds. */
  async getTenantUsage(
    slug: string,
    options?: TenantsRequestOptions,
  ): Promise<TenantUsage> {
    return this.#http.json(`${tenantPath(slug)}/usage`, options);
  }

  /** Lists what a tenant has used, by day. */
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

  /** Lists who did what in a tenant, the newest events first. */
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

  /** Lists what a tenant shares with others, and what it receives. */
  async listShares(
    slug: string,
    options?: TenantsRequestOptions,
  ): Promise<TenantShares> {
    return this.#http.json(sharePath(slug), options);
  }

  /** Shares entities of a tenant with others. */
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

  /** Changes what is shared, or with whom. */
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

  /** Ends a share. The other tenants lose its copies within seconds. */
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

  /** Lists the members of a tenant, ordered by principal. */
  async listMembers(
    slug: string,
    query: ListMembers = {},
    options?: TenantsRequestOptions,
  ): Promise<Page<TenantMember>> {
    const path = `${tenantPath(slug)}/members${toSearch(query)}`;
    return readPage(await this.#http.fetch(path, options));
  }

  /** Gets a member of a tenant, or `undefined`. */
  async getMember(
    slug: string,
    principal: string,
    options?: TenantsRequestOptions,
  ): Promise<TenantMember | undefined> {
    return this.#getIfThere(memberPath(slug, principal), options);
  }

  /** Adds a member to a tenant, or changes the role of one. */
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

  /** Removes a member of a tenant. */
  async removeMember(
    slug: string,
    principal: string,
    options?: TenantsRequestOptions,
  ): Promise<void> {
    const path = memberPath(slug, principal);
    await this.#http.fetch(path, { ...options, method: 'DELETE' });
  }

  /** Lists the invitations of a tenant, the newest first. */
  async listInvitations(
    slug: string,
    query: ListMembers = {},
    options?: TenantsRequestOptions,
  ): Promise<Page<TenantInvitation>> {
    const path = `${invitationsPath(slug)}${toSearch(query)}`;
    return readPage(await this.#http.fetch(path, options));
  }

  /** Invites somebody into a tenant. */
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

  /** Removes an invitation, which nobody can accept then. */
  async revokeInvitation(
    slug: string,
    id: string,
    options?: TenantsRequestOptions,
  ): Promise<void> {
    const path = `${invitationsPath(slug)}/${encodeURIComponent(id)}`;
    await this.#http.fetch(path, { ...options, method: 'DELETE' });
  }

  /**
   * Makes the caller a member of the tenant that somebody invites into. It rejects with status
   * 404 for whatever is wrong with the invitation.
   */
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

  /** Gets the OpenID provider of a tenant, or `undefined`. */
  async getSignIn(
    slug: string,
    options?: TenantsRequestOptions,
  ): Promise<TenantSignIn | undefined> {
    const path = `${tenantPath(slug)}/sign-in`;
    const signIn = await this.#http.json<TenantSignIn | null>(path, options);
    return signIn ?? undefined;
  }

  /** Gives a tenant an OpenID provider, in place of an earlier one. */
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

  /** Takes the OpenID provider away: sessions by it end. */
  async removeSignIn(
    slug: string,
    options?: TenantsRequestOptions,
  ): Promise<void> {
    const path = `${tenantPath(slug)}/sign-in`;
    await this.#http.fetch(path, { ...options, method: 'DELETE' });
  }

  /**
   * Finds users and groups of the identity catalog, which is the default tenant's, that the
   * caller may read there: who can become a member of the tenant. Ordered by name.
   *
   * It rejects with status 403 and the error name `IdentityCatalogNotAllowedError` where the
   * caller may change the members, but may not read that catalog.
   */
  async findPrincipals(
    slug: string,
    { principals: principal, ...query }: FindPrincipals = {},
    options?: TenantsRequestOptions,
  ): Promise<Page<CatalogPrincipal>> {
    const search = toSearch({ ...query, principal });
    const path = `${tenantPath(slug)}/principals${search}`;
    return readPage(await this.#http.fetch(path, options));
  }

  /** Gets what feeds a tenant, how far that is behind, and what failed last. */
  async getTenantStatus(
    slug: string,
    options?: TenantsRequestOptions,
  ): Promise<TenantStatus> {
    return this.#http.json(`${tenantPath(slug)}/status`, options);
  }

  /** Gets the engine of a tenant, or `undefined` for the default tenant, and where there is none. */
  async getEngine(
    slug: string,
    options?: TenantsRequestOptions,
  ): Promise<TenantEngine | undefined> {
    return this.#getIfThere(`${tenantPath(slug)}/engine`, options);
  }

  /**
   * Pauses the engine of a tenant: it ingests nothing and runs no scheduled task, in any
   * process, until it is resumed. An earlier pause stays as it is.
   */
  async pauseEngine(
    slug: string,
    options?: TenantsRequestOptions,
  ): Promise<TenantEngine> {
    return this.#http.json(`${tenantPath(slug)}/engine/pause`, {
      ...options,
      method: 'PUT',
    });
  }

  /** Ends the pause of a tenant's engine, if there is one. */
  async resumeEngine(
    slug: string,
    options?: TenantsRequestOptions,
  ): Promise<void> {
    const path = `${tenantPath(slug)}/engine/pause`;
    await this.#http.fetch(path, { ...options, method: 'DELETE' });
  }

  /** Gets the configuration of a tenant's engine. */
  async getCatalogConfig(
    slug: string,
    options?: TenantsRequestOptions,
  ): Promise<ReadCatalogConfig> {
    const path = `${tenantPath(slug)}/catalog-config`;
    return readTagged(await this.#http.fetch(path, options));
  }

  /** Replaces the configuration of a tenant's engine, which restarts that engine alone. */
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
