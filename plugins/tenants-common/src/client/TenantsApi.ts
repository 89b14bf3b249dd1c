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
export interface TenantsApi {
  /** Lists the tenants that the caller may enter, ordered by slug. */
  listOwnTenants(
    query?: ListMembers,
    options?: TenantsRequestOptions,
  ): Promise<Page<Membership>>;

  /**
   * Gets the tenant that this request belongs to. It rejects with status 403 where the
   * caller may not enter it.
   */
  getOpenTenant(options?: TenantsRequestOptions): Promise<OpenTenant>;

  /** Lists tenants, ordered by slug. */
  listTenants(
    query?: ListTenants,
    options?: TenantsRequestOptions,
  ): Promise<Page<Tenant>>;

  /**
   * Lists tenants as {@link TenantsApi.listTenants} does, with what each holds and what feeds
   * it: at most 100 at once.
   */
  listTenantSummaries(
    query?: ListTenantSummaries,
    options?: TenantsRequestOptions,
  ): Promise<Page<TenantSummary>>;

  /** Gets a tenant, also a deleted one, or `undefined`. */
  getTenant(
    slug: string,
    options?: TenantsRequestOptions,
  ): Promise<Tenant | undefined>;

  /** Creates a tenant. */
  createTenant(
    request: CreateTenant,
    options?: TenantsRequestOptions,
  ): Promise<CreatedTenant>;

  /** Changes the name or the limits of a tenant. */
  updateTenant(
    slug: string,
    request: UpdateTenant,
    options?: TenantsRequestOptions,
  ): Promise<Tenant>;

  /** Deletes a tenant, which keeps its rows and can be restored. */
  deleteTenant(slug: string, options?: TenantsRequestOptions): Promise<void>;

  /** Makes a deleted tenant active again. */
  restoreTenant(slug: string, options?: TenantsRequestOptions): Promise<Tenant>;

  /** Counts what a tenant holds. */
  getTenantUsage(
    slug: string,
    options?: TenantsRequestOptions,
  ): Promise<TenantUsage>;

  /** Lists what a tenant has used, by day. */
  listUsage(
    slug: string,
    query?: ListTenantUsage,
    options?: TenantsRequestOptions,
  ): Promise<TenantUsageDay[]>;

  /** Lists who did what in a tenant, the newest events first. */
  listAudit(
    slug: string,
    query?: ListTenantAudit,
    options?: TenantsRequestOptions,
  ): Promise<TenantAuditPage>;

  /** Lists what a tenant shares with others, and what it receives. */
  listShares(
    slug: string,
    options?: TenantsRequestOptions,
  ): Promise<TenantShares>;

  /** Shares entities of a tenant with others. */
  createShare(
    slug: string,
    request: CreateShare,
    options?: TenantsRequestOptions,
  ): Promise<TenantShare>;

  /** Changes what is shared, or with whom. */
  updateShare(
    slug: string,
    shareId: string,
    request: UpdateShare,
    options?: TenantsRequestOptions,
  ): Promise<TenantShare>;

  /** Ends a share. The other tenants lose its copies within seconds. */
  deleteShare(
    slug: string,
    shareId: string,
    options?: TenantsRequestOptions,
  ): Promise<void>;

  /** Lists the members of a tenant, ordered by principal. */
  listMembers(
    slug: string,
    query?: ListMembers,
    options?: TenantsRequestOptions,
  ): Promise<Page<TenantMember>>;

  /** Gets a member of a tenant, or `undefined`. */
  getMember(
    slug: string,
    principal: string,
    options?: TenantsRequestOptions,
  ): Promise<TenantMember | undefined>;

  /** Adds a member to a tenant, or changes the role of one. */
  putMember(
    slug: string,
    principal: string,
    request: PutMember,
    options?: TenantsRequestOptions,
  ): Promise<TenantMember>;

  /** Removes a member of a tenant. */
  removeMember(
    slug: string,
    principal: string,
    options?: TenantsRequestOptions,
  ): Promise<void>;

  /** Lists the invitations of a tenant, the newest first. */
  listInvitations(
    slug: string,
    query?: ListMembers,
    options?: TenantsRequestOptions,
  ): Promise<Page<TenantInvitation>>;

  /** Invites somebody into a tenant. */
  createInvitation(
    slug: string,
    request: CreateInvitation,
    options?: TenantsRequestOptions,
  ): Promise<CreatedInvitation>;

  /** Removes an invitation, which nobody can accept then. */
  revokeInvitation(
    slug: string,
    id: string,
    options?: TenantsRequestOptions,
  ): Promise<void>;

  /**
   * Makes the caller a member of the tenant that somebody invites into. It rejects with status
   * 404 for whatever is wrong with the invitation.
   */
  acceptInvitation(
    request: AcceptInvitation,
    options?: TenantsRequestOptions,
  ): Promise<Membership>;

  /** Gets the OpenID provider of a tenant, or `undefined`. */
  getSignIn(
    slug: string,
    options?: TenantsRequestOptions,
  ): Promise<TenantSignIn | undefined>;

  /** Gives a tenant an OpenID provider, in place of an earlier one. */
  putSignIn(
    slug: string,
    request: PutTenantSignIn,
    options?: TenantsRequestOptions,
  ): Promise<TenantSignIn>;

  /** Takes the OpenID provider away: sessions by it end. */
  removeSignIn(slug: string, options?: TenantsRequestOptions): Promise<void>;

  /**
   * Finds users and groups of the identity catalog, which is the default tenant's, that the
   * caller may read there: who can become a member of the tenant. Ordered by name.
   *
   * It rejects with status 403 and the error name `IdentityCatalogNotAllowedError` where the
   * caller may change the members, but may not read that catalog.
   */
  findPrincipals(
    slug: string,
    query?: FindPrincipals,
    options?: TenantsRequestOptions,
  ): Promise<Page<CatalogPrincipal>>;

  /** Gets what feeds a tenant, how far that is behind, and what failed last. */
  getTenantStatus(
    slug: string,
    options?: TenantsRequestOptions,
  ): Promise<TenantStatus>;

  /** Gets the engine of a tenant, or `undefined` for the default tenant, and where there is none. */
  getEngine(
    slug: string,
    options?: TenantsRequestOptions,
  ): Promise<TenantEngine | undefined>;

  /**
   * Pauses the engine of a tenant: it ingests nothing and runs no scheduled task, in any
   * process, until it is resumed. An earlier pause stays as it is.
   */
  pauseEngine(
    slug: string,
    options?: TenantsRequestOptions,
  ): Promise<TenantEngine>;

  /** Ends the pause of a tenant's engine, if there is one. */
  resumeEngine(slug: string, options?: TenantsRequestOptions): Promise<void>;

  /** Gets the configuration of a tenant's engine. */
  getCatalogConfig(
    slug: string,
    options?: TenantsRequestOptions,
  ): Promise<ReadCatalogConfig>;

  /** Replaces the configuration of a tenant's engine, which restarts that engine alone. */
  putCatalogConfig(
    slug: string,
    request: CatalogConfig,
    options?: TenantsWriteOptions,
  ): Promise<ReadCatalogConfig>;
}
