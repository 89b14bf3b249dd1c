import { etagOf, HttpClient, pathOf, toSearch } from '@internal/http-client';
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
 * Options of calls that create something.
 *
 * @public
 */
export interface TenantsCreateOptions extends TenantsRequestOptions {
  /**
   * Any text of 1 to 255 characters, the same for each attempt: an attempt after one whose answer
   * was lost creates no second one.
   */
  idempotencyKey?: string;
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
 * rejects with a `ResponseError` of `@backstage/errors`, except that `getTenant`
 * and `getMember` return `undefined` where there is none.
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
  listOwnTenants(
    query: ListMembers = {},
    options?: TenantsRequestOptions,
  ): Promise<Page<Membership>> {
    return this.#http.page('/mine', query, options);
  }

  /**
   * Gets the tenant that this request belongs to. It rejects with status 403 where the
   * caller may not enter it.
   */
  getOpenTenant(options?: TenantsRequestOptions): Promise<OpenTenant> {
    return this.#http.json('/mine/current', options);
  }

  /** Lists tenants, ordered by slug. */
  listTenants(
    query: ListTenants = {},
    options?: TenantsRequestOptions,
  ): Promise<Page<Tenant>> {
    return this.#http.page('', query, options);
  }

  /**
   * Lists tenants as {@link TenantsClient.listTenants} does, with what each holds and what feeds
   * it: at most 100 at once.
   */
  listTenantSummaries(
    query: ListTenantSummaries = {},
    options?: TenantsRequestOptions,
  ): Promise<Page<TenantSummary>> {
    return this.#http.page('', { ...query, summary: true }, options);
  }

  /** Gets a tenant, also a deleted one, or `undefined`. */
  getTenant(
    slug: string,
    options?: TenantsRequestOptions,
  ): Promise<Tenant | undefined> {
    return this.#http.jsonIfThere(pathOf`/${slug}`, options);
  }

  /** Creates a tenant. */
  createTenant(
    request: CreateTenant,
    options?: TenantsCreateOptions,
  ): Promise<CreatedTenant> {
    return this.#http.send('POST', '', request, options);
  }

  /** Changes the name or the limits of a tenant. */
  updateTenant(
    slug: string,
    request: UpdateTenant,
    options?: TenantsRequestOptions,
  ): Promise<Tenant> {
    return this.#http.send('PATCH', pathOf`/${slug}`, request, options);
  }

  /** Deletes a tenant, which keeps its rows and can be restored. */
  deleteTenant(slug: string, options?: TenantsRequestOptions): Promise<void> {
    return this.#http.delete(pathOf`/${slug}`, options);
  }

  /** Makes a deleted tenant active again. */
  restoreTenant(
    slug: string,
    options?: TenantsRequestOptions,
  ): Promise<Tenant> {
    return this.#http.send(
      'POST',
      pathOf`/${slug}/restore`,
      undefined,
      options,
    );
  }

  /** Counts what a tenant holds. */
  getTenantUsage(
    slug: string,
    options?: TenantsRequestOptions,
  ): Promise<TenantUsage> {
    return this.#http.json(pathOf`/${slug}/usage`, options);
  }

  /** Lists what a tenant has used, by day. */
  listUsage(
    slug: string,
    query: ListTenantUsage = {},
    options?: TenantsRequestOptions,
  ): Promise<TenantUsageDay[]> {
    return this.#http.json(
      `${pathOf`/${slug}/usage`}${toSearch({ ...query, format: 'json' })}`,
      options,
    );
  }

  /** Lists who did what in a tenant, the newest events first. */
  listAudit(
    slug: string,
    query: ListTenantAudit = {},
    options?: TenantsRequestOptions,
  ): Promise<TenantAuditPage> {
    return this.#http.json(
      `${pathOf`/${slug}/audit`}${toSearch(query)}`,
      options,
    );
  }

  /** Lists what a tenant shares with others, and what it receives. */
  listShares(
    slug: string,
    options?: TenantsRequestOptions,
  ): Promise<TenantShares> {
    return this.#http.json(pathOf`/${slug}/shares`, options);
  }

  /** Shares entities of a tenant with others. */
  createShare(
    slug: string,
    request: CreateShare,
    options?: TenantsCreateOptions,
  ): Promise<TenantShare> {
    return this.#http.send('POST', pathOf`/${slug}/shares`, request, options);
  }

  /** Changes what is shared, or with whom. */
  updateShare(
    slug: string,
    shareId: string,
    request: UpdateShare,
    options?: TenantsRequestOptions,
  ): Promise<TenantShare> {
    return this.#http.send(
      'PATCH',
      pathOf`/${slug}/shares/${shareId}`,
      request,
      options,
    );
  }

  /** Ends a share. The other tenants lose its copies within seconds. */
  deleteShare(
    slug: string,
    shareId: string,
    options?: TenantsRequestOptions,
  ): Promise<void> {
    return this.#http.delete(pathOf`/${slug}/shares/${shareId}`, options);
  }

  /** Lists the members of a tenant, ordered by principal. */
  listMembers(
    slug: string,
    query: ListMembers = {},
    options?: TenantsRequestOptions,
  ): Promise<Page<TenantMember>> {
    return this.#http.page(pathOf`/${slug}/members`, query, options);
  }

  /** Gets a member of a tenant, or `undefined`. */
  getMember(
    slug: string,
    principal: string,
    options?: TenantsRequestOptions,
  ): Promise<TenantMember | undefined> {
    return this.#http.jsonIfThere(
      pathOf`/${slug}/members/${principal}`,
      options,
    );
  }

  /** Adds a member to a tenant, or changes the role of one. */
  putMember(
    slug: string,
    principal: string,
    request: PutMember,
    options?: TenantsRequestOptions,
  ): Promise<TenantMember> {
    return this.#http.send(
      'PUT',
      pathOf`/${slug}/members/${principal}`,
      request,
      options,
    );
  }

  /** Removes a member of a tenant. */
  removeMember(
    slug: string,
    principal: string,
    options?: TenantsRequestOptions,
  ): Promise<void> {
    return this.#http.delete(pathOf`/${slug}/members/${principal}`, options);
  }

  /** Lists the invitations of a tenant, the newest first. */
  listInvitations(
    slug: string,
    query: ListMembers = {},
    options?: TenantsRequestOptions,
  ): Promise<Page<TenantInvitation>> {
    return this.#http.page(pathOf`/${slug}/invitations`, query, options);
  }

  /** Invites somebody into a tenant. */
  createInvitation(
    slug: string,
    request: CreateInvitation,
    options?: TenantsCreateOptions,
  ): Promise<CreatedInvitation> {
    return this.#http.send(
      'POST',
      pathOf`/${slug}/invitations`,
      request,
      options,
    );
  }

  /** Removes an invitation, which nobody can accept then. */
  revokeInvitation(
    slug: string,
    id: string,
    options?: TenantsRequestOptions,
  ): Promise<void> {
    return this.#http.delete(pathOf`/${slug}/invitations/${id}`, options);
  }

  /**
   * Makes the caller a member of the tenant that somebody invites into; the same again answers the
   * same. It rejects with status 404 for whatever is wrong with the invitation.
   */
  acceptInvitation(
    request: AcceptInvitation,
    options?: TenantsRequestOptions,
  ): Promise<Membership> {
    return this.#http.send(
      'POST',
      '/mine/accepted-invitations',
      request,
      options,
    );
  }

  /** Gets the OpenID provider of a tenant, or `undefined`. */
  async getSignIn(
    slug: string,
    options?: TenantsRequestOptions,
  ): Promise<TenantSignIn | undefined> {
    const path = pathOf`/${slug}/sign-in`;
    const signIn = await this.#http.json<TenantSignIn | null>(path, options);
    return signIn ?? undefined;
  }

  /** Gives a tenant an OpenID provider, in place of an earlier one. */
  putSignIn(
    slug: string,
    request: PutTenantSignIn,
    options?: TenantsRequestOptions,
  ): Promise<TenantSignIn> {
    return this.#http.send('PUT', pathOf`/${slug}/sign-in`, request, options);
  }

  /** Takes the OpenID provider away: sessions by it end. */
  removeSignIn(slug: string, options?: TenantsRequestOptions): Promise<void> {
    return this.#http.delete(pathOf`/${slug}/sign-in`, options);
  }

  /**
   * Finds users and groups of the identity catalog, which is the default tenant's, that the
   * caller may read there: who can become a member of the tenant. Ordered by name.
   *
   * It rejects with status 403 and the error name `IdentityCatalogNotAllowedError` where the
   * caller may change the members, but may not read that catalog.
   */
  findPrincipals(
    slug: string,
    { principals: principal, ...query }: FindPrincipals = {},
    options?: TenantsRequestOptions,
  ): Promise<Page<CatalogPrincipal>> {
    return this.#http.page(
      pathOf`/${slug}/principals`,
      { ...query, principal },
      options,
    );
  }

  /** Gets what feeds a tenant, how far that is behind, and what failed last. */
  getTenantStatus(
    slug: string,
    options?: TenantsRequestOptions,
  ): Promise<TenantStatus> {
    return this.#http.json(pathOf`/${slug}/status`, options);
  }

  /**
   * Pauses the engine of a tenant: it ingests nothing and runs no scheduled task, in any
   * process, until it is resumed. An earlier pause stays as it is.
   */
  async pauseEngine(
    slug: string,
    options?: TenantsRequestOptions,
  ): Promise<void> {
    await this.#http.fetch(pathOf`/${slug}/engine/pause`, {
      ...options,
      method: 'PUT',
    });
  }

  /** Ends the pause of a tenant's engine, if there is one. */
  resumeEngine(slug: string, options?: TenantsRequestOptions): Promise<void> {
    return this.#http.delete(pathOf`/${slug}/engine/pause`, options);
  }

  /** Gets the configuration of a tenant's engine. */
  async getCatalogConfig(
    slug: string,
    options?: TenantsRequestOptions,
  ): Promise<ReadCatalogConfig> {
    const path = pathOf`/${slug}/catalog-config`;
    return readTagged(await this.#http.fetch(path, options));
  }

  /** Replaces the configuration of a tenant's engine, which restarts that engine alone. */
  async putCatalogConfig(
    slug: string,
    request: CatalogConfig,
    options?: TenantsWriteOptions,
  ): Promise<ReadCatalogConfig> {
    const path = pathOf`/${slug}/catalog-config`;
    return readTagged(
      await this.#http.fetch(path, {
        ...options,
        method: 'PUT',
        body: request,
      }),
    );
  }
}

/** Reads what an answer has, and the entity tag of that. */
async function readTagged<T extends object>(
  response: Response,
): Promise<T & { etag?: string }> {
  const etag = etagOf(response);
  return { ...(await response.json()), ...(etag && { etag }) };
}
