import type { JsonObject } from '@backstage/types';

/**
 * A row of the registry, as the API shows it (specification B.1).
 *
 * @public
 */
export interface Tenant {
  /** A UUID. It never changes. */
  tenant_id: string;
  /** Matches `^[a-z0-9-]+$`, at most 63 characters. It never changes. */
  tenant_slug: string;
  /** What people call the tenant: 1 to 255 characters. */
  tenant_name: string;
  /** How many live entities the tenant may have; null, which only SQL sets: any. */
  max_entities: number | null;
  /** How many days deleted entities are kept; null, which only SQL sets: for ever. */
  entity_ttl_days: number | null;
  /** How many operations it may have under way in each process; null: as configured. */
  concurrency: number | null;
  /** How many requests a second it may send to each process; null: as configured. */
  requests_per_second: number | null;
  /** How many of these may come at once; null: as many as in a second. */
  burst: number | null;
  /** ISO 8601, UTC */
  created_at: string;
  /** ISO 8601, UTC */
  updated_at: string;
  /** ISO 8601, UTC; set while the tenant is deleted */
  deleted_at: string | null;
}

/**
 * A tenant that has just been created.
 *
 * @public
 */
export interface CreatedTenant extends Tenant {
  /** Its catalog engine is being made: requests for it wait some seconds. */
  engine_state?: 'starting';
}

/**
 * What a tenant holds, and what it may: for its own admins, too.
 *
 * @public
 */
export interface TenantUsage
  extends Pick<
    Tenant,
    | 'tenant_slug'
    | 'max_entities'
    | 'entity_ttl_days'
    | 'concurrency'
    | 'requests_per_second'
    | 'burst'
    | 'created_at'
  > {
  /** Entities that are served: what `max_entities` bounds. */
  live_entities: number;
  /** Copies of what other tenants share, which `max_entities` does not count. */
  shared_entities: number;
  /** Deleted entities that are kept until `entity_ttl_days` are over. */
  deleted_entities: number;
  /** Relations of its entities. */
  relations: number;
}

/**
 * A tenant that is to be created.
 *
 * @public
 */
export interface CreateTenant {
  /** Matches `^[a-z0-9-]+$`, at most 63 characters; `www` is reserved. */
  tenant_slug: string;
  /** 1 to 255 characters */
  tenant_name: string;
  /** 0 or more; 50000 by default */
  max_entities?: number;
  /** 1 or more; 365 by default */
  entity_ttl_days?: number;
  /**
   * How many operations it may have under way in each process: 1 to 10,000; null for the
   * configured default, which holds without it
   */
  concurrency?: number | null;
  /**
   * How many requests a second it may send to each process: 1 to 1,000,000; null for the
   * configured default, which holds without it
   */
  requests_per_second?: number | null;
  /**
   * How many of these may come at once: 1 to 1,000,000, only together with
   * `requests_per_second`; null for as many as in a second, which holds without it
   */
  burst?: number | null;
}

/**
 * What is to change of a tenant: one thing at least. A slug stays for ever, for it
 * is part of addresses and tokens. To take `requests_per_second` away takes `burst` away.
 *
 * @public
 */
export type UpdateTenant = Partial<Omit<CreateTenant, 'tenant_slug'>>;

/**
 * Which tenants of the registry are asked for.
 *
 * @public
 */
export interface ListTenants {
  /** Deleted tenants too; without them by default. */
  deleted?: boolean;
  /**
   * Those whose slug or name contains this text, in any case: 255 characters at most; all
   * by default.
   */
  search?: string;
  /** 1 to 500; 100 by default */
  limit?: number;
  /** How many tenants of the list to pass over first; none by default. */
  offset?: number;
}

/**
 * Which summaries of tenants to list, and in which order.
 *
 * @public
 */
export interface ListTenantSummaries extends ListTenants {
  /** Those in this state alone; `with_errors` are those whose sources have errors. */
  state?: TenantStatus['state'] | 'deleted' | 'with_errors';
  /** By `slug` where it is not given. */
  orderBy?: 'slug' | 'name' | 'newest';
}

/**
 * What a member may do in a tenant: a `viewer` reads, a `member` also changes what the portal's
 * policy lets people change, and an `admin` administers the tenant as well.
 *
 * @public
 */
export type TenantRole = 'viewer' | 'member' | 'admin';

/**
 * A member of a tenant, as the API shows it.
 *
 * @public
 */
export interface TenantMember {
  /**
   * A user as `user:<namespace>/<name>`, a group as `group:<namespace>/<name>`, both in
   * lower case, or the subject of an external service.
   */
  principal: string;
  /** What the member may do. */
  role: TenantRole;
  /** The user or service that added the member. */
  created_by: string;
  /** ISO 8601, UTC */
  created_at: string;
}

/**
 * What a member is to be.
 *
 * @public
 */
export type PutMember = Pick<TenantMember, 'role'>;

/**
 * An invitation into a tenant, as the API shows it.
 *
 * @public
 */
export interface TenantInvitation {
  /** A UUID. It accepts nothing. */
  id: string;
  /** What the invited person will be there. */
  role: TenantRole;
  /**
   * In lower case: only somebody with this address in the identity catalog can accept. Null
   * for whoever has the link.
   */
  email: string | null;
  /** The user or service that invites. */
  created_by: string;
  /** ISO 8601, UTC, as all times here */
  created_at: string;
  /** When it can no longer be accepted. */
  expires_at: string;
  /** Whether it can be accepted, was, or never can be. */
  state: 'open' | 'accepted' | 'expired';
  /** The user who has accepted it. */
  accepted_by: string | null;
  /** When that was. */
  accepted_at: string | null;
}

/**
 * An invitation that was just made.
 *
 * @public
 */
export interface CreatedInvitation extends TenantInvitation {
  /** Accepts the invitation, once. It can't be had again. */
  token: string;
  /** The page of the portal that accepts it. */
  link: string;
  /** Whether it was sent to its address. */
  sent: boolean;
}

/**
 * An invitation that is to be made.
 *
 * @public
 */
export interface CreateInvitation {
  /** What the invited person is to be. */
  role: TenantRole;
  /** Only somebody with this address in the identity catalog can accept; 254 characters at most. */
  email?: string;
  /** For how many days it can be accepted: 1 to 90; 7 by default. */
  valid_days?: number;
}

/**
 * What accepts an invitation.
 *
 * @public
 */
export interface AcceptInvitation {
  /** As in {@link CreatedInvitation.token}. */
  token: string;
}

/**
 * The OpenID provider by which the people of a tenant are to sign in. They are
 * `user:<slug of the tenant>/<name>`.
 *
 * @public
 */
export interface PutTenantSignIn {
  /** As the provider's metadata has it. */
  issuer: string;
  /** What the provider calls this portal. */
  client_id: string;
  /**
   * A reference to the client's secret, which is not stored: `${NAME}`, an environment variable
   * that the operator lists for the tenant, or `{ $file: 'name' }` in the tenant's folder of
   * secrets.
   */
  client_secret: string | { $file: string };
  /** Asked for beside `openid`, `profile` and `email`, such as `offline_access`. */
  scopes?: string[];
  /** Only verified addresses of these domains sign in; any do without it. */
  allowed_domains?: string[];
  /** The role of somebody who signs in without being a member; without it, they are refused. */
  auto_join?: TenantRole;
  /** Has the name of the user: `preferred_username` by default. */
  name_claim?: string;
  /** Has the address: `email` by default. */
  email_claim?: string;
  /** Has the names of groups: `groups` by default. */
  groups_claim?: string;
  /** The role of members of a group; the highest counts, and is given at each sign-in. */
  roles?: Record<string, TenantRole>;
}

/**
 * The OpenID provider of a tenant, as the API shows it.
 *
 * @public
 */
export interface TenantSignIn extends PutTenantSignIn {
  /** The user or service that wrote it last. */
  updated_by: string;
  /** ISO 8601, UTC */
  updated_at: string;
}

/**
 * A user or group of the identity catalog, which is the default tenant's: who can become a
 * member of any tenant.
 *
 * @public
 */
export interface CatalogPrincipal {
  /** As in {@link TenantMember.principal}. */
  principal: string;
  /** Whether it is one person or several. */
  kind: 'user' | 'group';
  /** What people call it: its display name or title; null if it has none. */
  display_name: string | null;
}

/**
 * Which users and groups of the identity catalog are asked for: either those that match a
 * search, or those that are named.
 *
 * @public
 */
export interface FindPrincipals {
  /**
   * A part of the name, the display name or the title, in any case: 1 to 100 characters. All
   * match by default.
   */
  search?: string;
  /** Those of these references that the catalog has; 50 at most. */
  principals?: string[];
  /** 1 to 50; 20 by default. Named ones are not limited by it. */
  limit?: number;
}

/**
 * A tenant that somebody may enter.
 *
 * @public
 */
export interface Membership {
  /** What requests call the tenant. */
  tenant_slug: string;
  /** What people call the tenant. */
  tenant_name: string;
  /** The highest of the roles that they have there. */
  role: TenantRole;
}

/**
 * The tenant that a request belongs to, as its caller sees it: what a page has to know of the
 * tenant that is open in it.
 *
 * @public
 */
export interface OpenTenant {
  /** What requests call the tenant. */
  tenant_slug: string;
  /** What people call the tenant. */
  tenant_name: string;
  /**
   * The highest of the roles that the caller has there; null for one who may enter without
   * being a member.
   */
  role: TenantRole | null;
  /**
   * What the caller owns in the tenant: themselves, and the groups that they belong to there. Empty
   * in the default tenant, where the sign-in says it, and for services.
   */
  ownership_entity_refs: string[];
  /** Whether the caller may see all tenants of the registry. */
  administers_tenants: boolean;
  /**
   * What of the request names the tenant: the hostname, a tenant's token, the header
   * `X-Tenant-Slug`, the page at a tenant's hostname that sends it to another host, the
   * plugin that makes it while it handles another request; or nothing.
   */
  named_by: 'hostname' | 'token' | 'header' | 'origin' | 'call' | 'default';
  /** The first of `tenancy.baseDomains`, below which tenants have their hostnames. */
  base_domain: string | null;
  /** Whether locations can be registered: the backend has engines, or it is the default tenant. */
  takes_locations: boolean;
  /**
   * The plugins, by id, that refuse the tenant. Only those that run in the process that
   * answers are known.
   */
  closed_plugins: string[];
  /** The first 100 tenants that the caller may enter, by slug, and how many there are. */
  own_tenants: Page<Membership>;
  /** Whether multi-tenancy is on; otherwise every request belongs to the default tenant. */
  enabled: boolean;
}

/**
 * Which part of a list is asked for.
 *
 * @public
 */
export interface ListMembers {
  /** 1 to 500; 100 by default */
  limit?: number;
  /** How many entries to pass over first; none by default. */
  offset?: number;
}

/**
 * The catalog engine that feeds a tenant, as the API shows it.
 *
 * @public
 */
export interface TenantEngine {
  /** The tenant that it feeds. */
  tenant_slug: string;
  /**
   * What it does in the process that answers:
   *
   * - `stopped`: the process does not run it
   * - `starting`: its tables and its modules are being made ready
   * - `running`: it ingests, and answers requests
   * - `failed`: it could not start, or lost its tables; it is tried again later
   */
  state: 'stopped' | 'starting' | 'running' | 'failed';
  /** Why it does not run. */
  reason?: string;
  /** When a failed engine is started again; ISO 8601, UTC */
  next_attempt_at?: string;
  /**
   * Who configures it: the operator in app-config, or the registry has its configuration;
   * null if nothing is configured.
   */
  configured_by: 'operator' | 'registry' | null;
  /**
   * Since when it ingests nothing and runs no scheduled task, where it is paused; ISO 8601,
   * UTC. Its routes go on.
   */
  paused_at?: string;
  /** The user or service that paused it. */
  paused_by?: string;
}

/**
 * How a tenant is fed, as the API shows it. Every process of a deployment answers the same.
 *
 * @public
 */
export interface TenantStatus {
  /** The tenant. */
  tenant_slug: string;
  /**
   * - `catalog_plugin`: the catalog plugin of the backend feeds it; the default tenant's
   * - `paused`: its engine is paused
   * - `unassigned`: no live process does the background work of its engine
   * - `starting`, `running`, `failed`, `stopped`: what the engine does in the process that
   *   does its background work, as in {@link TenantEngine.state}
   * - `unknown`: the backend that answers has no engines
   */
  state:
    | 'catalog_plugin'
    | 'paused'
    | 'unassigned'
    | 'stopped'
    | 'starting'
    | 'running'
    | 'failed'
    | 'unknown';
  /** Why the engine failed, while it has. */
  reason: string | null;
  /** Since when the engine is paused; ISO 8601, UTC, as all times here */
  paused_at: string | null;
  /** The user or service that paused it. */
  paused_by: string | null;
  /** Entities that are served. */
  entities: number;
  /** Rows of the engine that could not be carried to the entities of the tenant. */
  faults: number | null;
  /** For how long the oldest item of the engine is due; 0 where nothing is. */
  lag_seconds: number | null;
  /** Since when that item is due; null where nothing is. */
  oldest_due_at: string | null;
  /** What is wrong with locations and their entities, 20 at most; null without an engine. */
  source_errors: SourceError[] | null;
  /** How many there are; null where counting them takes too long. */
  source_error_count: number | null;
  /** Why the engine failed last, also where it has started since. */
  last_error: string | null;
  /** When that was. */
  last_error_at: string | null;
  /** When the engine last had nothing left that was due. */
  last_full_run_at: string | null;
  /** The process that does the background work: its host and process id. */
  process: string | null;
  /** When another process may take over, unless this one renews its lease. */
  lease_expires_at: string | null;
  /**
   * The version of `@backstage/plugin-catalog-backend` that engines run with in the process that
   * answers; null where it has none.
   */
  catalog_version: string | null;
}

/**
 * Why a location could not be read, or an entity of it is not valid.
 *
 * @public
 */
export interface SourceError {
  /** The target of the location, such as a URL, as it was configured or registered. */
  location: string;
  /** What has the error: an entity of the location, or the location itself. */
  entity_ref: string;
  /** What the catalog says. */
  message: string;
  /** When the catalog tries again; ISO 8601, UTC. A refresh of the entity does so at once. */
  next_try_at: string;
}

/**
 * A row of the registry with what the tenant holds and what feeds it.
 *
 * @public
 */
export interface TenantSummary extends Tenant {
  /** As in {@link TenantStatus.state}; null while the tenant is deleted. */
  state: TenantStatus['state'] | null;
  /** As in {@link TenantStatus.source_error_count}. */
  source_error_count: number | null;
  /** Entities that are served: what `max_entities` bounds. */
  entities: number;
}

/**
 * The configuration of a tenant's engine: what app-config has under these keys, with
 * references in place of secrets.
 *
 * @public
 */
export interface CatalogConfig {
  /** As `catalog` of app-config: locations, providers and rules. */
  catalog?: JsonObject;
  /** As `integrations` of app-config. */
  integrations?: JsonObject;
}

/**
 * The configuration of a tenant's engine, as the API shows it. It has no content where the
 * operator configures the engine in app-config.
 *
 * @public
 */
export interface TenantCatalogConfig extends CatalogConfig {
  /** As in {@link TenantEngine.configured_by}. */
  configured_by: 'operator' | 'registry' | null;
  /** ISO 8601, UTC; null if it was never written */
  updated_at: string | null;
  /** The user or service that wrote it last. */
  updated_by: string | null;
}

/**
 * The configuration of a tenant's engine, as the client reads it.
 *
 * @public
 */
export interface ReadCatalogConfig extends TenantCatalogConfig {
  /**
   * Names this state of the configuration (`ETag`). A write that gives it as `ifMatch` is
   * refused once somebody else has changed the configuration. Nothing where the operator
   * configures the engine.
   */
  etag?: string;
}

/**
 * A page of a list.
 *
 * @public
 */
export interface Page<TItem> {
  /** The entries of this page. */
  items: TItem[];
  /** How many entries all pages have. */
  totalItems: number;
}

/**
 * Entities of one tenant of which others get copies.
 *
 * @public
 */
export interface TenantShare {
  /** A UUID. */
  share_id: string;
  /** The slugs of the tenants that receive them, or all tenants with an engine. */
  targets: 'all' | string[];
  /**
   * Which entities: each text is a `filter` of `/api/catalog/entities`, such as
   * `kind=template,spec.type=service`. What matches one of them is shared.
   */
  filter: string[];
  /**
   * The reference of what owns the copies whose own owner is not shared; without it, that is
   * `unknown` where the catalog demands one.
   */
  owner: string | null;
  /** Where two shares have the same entity, the lower position wins, then the older share. */
  position: number;
  /** The user or service that made the share. */
  created_by: string;
  /** ISO 8601, UTC */
  created_at: string;
  /** ISO 8601, UTC */
  updated_at: string;
  /** How many copies all receiving tenants have. */
  copies: number;
  /** How many copies are left out, because a tenant has an entity of the same name. */
  conflicts: number;
}

/**
 * A share that is to be made.
 *
 * @public
 */
export interface CreateShare {
  /** As in {@link TenantShare.targets}: 1,000 slugs at most. */
  targets: 'all' | string[];
  /** As in {@link TenantShare.filter}: 1 to 20 texts. */
  filter: string[];
  /** As in {@link TenantShare.owner}; null by default. */
  owner?: string | null;
  /** 0 to 1,000; 100 by default */
  position?: number;
}

/**
 * What is to change of a share: one thing at least.
 *
 * @public
 */
export type UpdateShare = Partial<CreateShare>;

/**
 * What a tenant gets of a share.
 *
 * @public
 */
export interface ReceivedShare {
  /** As in {@link TenantShare.share_id}. */
  share_id: string;
  /** The slug of the tenant that shares. */
  tenant_slug: string;
  /** How many copies the tenant has of it. */
  copies: number;
  /** How many are left out, because the tenant has an entity of the same name. */
  conflicts: number;
}

/**
 * The shares of a tenant.
 *
 * @public
 */
export interface TenantShares {
  /** What it shares, by position. */
  shares: TenantShare[];
  /** What it receives, by slug. */
  received: ReceivedShare[];
}

/**
 * What became of an operation. `unknown` is one that has not ended yet, or whose process ended
 * before it did.
 *
 * @public
 */
export type TenantAuditOutcome = 'succeeded' | 'failed' | 'unknown';

/**
 * An operation in a tenant, as its audit trail has it.
 *
 * @public
 */
export interface TenantAuditEvent {
  /** A UUID. */
  id: string;
  /** When the operation began: ISO 8601, UTC */
  at: string;
  /** The id of the plugin that did it. */
  plugin: string;
  /** What was done, such as `put-tenant-member`. */
  event: string;
  /** As Backstage's auditor has it: what changes something is at least `medium`. */
  severity: 'low' | 'medium' | 'high' | 'critical';
  /** What became of it. */
  outcome: TenantAuditOutcome;
  /** The user or service; null where nobody had signed in. */
  actor: string | null;
  /** The address that the request came from; null for work in the background. */
  ip: string | null;
  /** The header `User-Agent` of the request. */
  user_agent: string | null;
  /** The method of the request. */
  method: string | null;
  /** The path of the request, without its query. */
  path: string | null;
  /** Why it failed; only the kind of error where that is the backend's own. */
  error: string | null;
  /** What else the plugin tells of it, without secrets. */
  meta: Record<string, unknown>;
}

/**
 * Which part of an audit trail is asked for.
 *
 * @public
 */
export interface ListTenantAudit {
  /** A part of the actor's reference, in any case. */
  actor?: string;
  /** A part of the event's name, in any case. */
  event?: string;
  /** What became of it. */
  outcome?: TenantAuditOutcome;
  /** The earliest time: ISO 8601 */
  from?: string;
  /** The time before which events are listed: ISO 8601 */
  to?: string;
  /** 1 to 500; 100 by default */
  limit?: number;
  /** As in {@link TenantAuditPage.next_cursor}. */
  cursor?: string;
}

/**
 * A page of an audit trail.
 *
 * @public
 */
export interface TenantAuditPage {
  /** The newest first. */
  items: TenantAuditEvent[];
  /** Leads to the next page; null on the last one. */
  next_cursor: string | null;
}

/**
 * What a tenant has used on one day, in UTC.
 *
 * @public
 */
export interface TenantUsageDay {
  /** Such as `2026-01-31` */
  day: string;
  /** Requests that were let into the tenant. */
  requests: number;
  /** For how long, in milliseconds, its operations have had a connection to the database. */
  database_ms: number;
  /** How many users sent requests. */
  people: number;
  /** How many entities of each kind it had when they were counted last. */
  entities: Record<string, number>;
  /** The size of these entities. */
  bytes: number;
}

/**
 * Which days are asked for: the last 30 by default, and 400 at most.
 *
 * @public
 */
export interface ListTenantUsage {
  /** The first day, such as `2026-01-01` */
  from?: string;
  /** The last day; today by default. */
  to?: string;
}
