import { openApiRef } from '@internal/http';
import { TENANT_ROLES } from 'backstage-plugin-tenants-common';
import { ENGINE_STATES } from '../http/query';

const slug = {
  type: 'string',
  pattern: '^[a-z0-9-]+$',
  minLength: 1,
  maxLength: 63,
};
const name = { type: 'string', minLength: 1, maxLength: 255 };
const largest = { maximum: 2_147_483_647 };
const maxEntities = { type: 'integer', minimum: 0, ...largest };
const ttlDays = { type: 'integer', minimum: 1, ...largest };
const concurrency = { type: 'integer', minimum: 1, maximum: 10_000 };
const requests = { type: 'integer', minimum: 1, maximum: 1_000_000 };
const ownLimits = {
  concurrency: orNull(concurrency),
  requests_per_second: orNull(requests),
  burst: orNull(requests),
};
const time = { type: 'string', format: 'date-time' };
const role = { type: 'string', enum: [...TENANT_ROLES] };
const flag = { type: 'boolean' };
const configuredBy = { enum: ['operator', 'registry', null] };
const count = { type: 'integer', minimum: 0 };

const tenant = {
  tenant_id: { type: 'string', format: 'uuid' },
  tenant_slug: slug,
  tenant_name: name,
  max_entities: orNull(maxEntities),
  entity_ttl_days: orNull(ttlDays),
  ...ownLimits,
  created_at: time,
  updated_at: time,
  deleted_at: orNull(time),
};
const state = { type: 'string', enum: [...ENGINE_STATES] };

const membership = { tenant_slug: slug, tenant_name: name, role };
const shareId = { type: 'string', format: 'uuid' };
const createShare = {
  targets: {
    anyOf: [
      { const: 'all' },
      { type: 'array', items: slug, minItems: 1, maxItems: 1_000 },
    ],
  },
  filter: {
    type: 'array',
    items: { type: 'string', maxLength: 1_000, example: 'kind=template' },
    minItems: 1,
    maxItems: 20,
  },
  owner: orNull({ type: 'string', example: 'group:default/platform' }),
  position: { type: 'integer', minimum: 0, maximum: 1_000, default: 100 },
};
const share = {
  share_id: shareId,
  ...createShare,
  targets: { anyOf: [{ const: 'all' }, { type: 'array', items: slug }] },
  created_by: { type: 'string' },
  created_at: time,
  updated_at: time,
  copies: count,
  conflicts: count,
};

const sections = {
  catalog: { type: 'object' },
  integrations: { type: 'object' },
};

const invitation = {
  id: { type: 'string', format: 'uuid' },
  role,
  email: orNull({ type: 'string', maxLength: 254 }),
  created_by: { type: 'string' },
  created_at: time,
  expires_at: time,
  state: { type: 'string', enum: ['open', 'accepted', 'expired'] },
  accepted_by: orNull({ type: 'string' }),
  accepted_at: orNull(time),
};

/** What may have become of an operation. */
export const AUDIT_OUTCOMES = ['succeeded', 'failed', 'unknown'];
const textOrNull = orNull({ type: 'string' });
const auditEvent = {
  id: { type: 'string', format: 'uuid' },
  at: time,
  plugin: { type: 'string' },
  event: { type: 'string', example: 'put-tenant-member' },
  severity: { type: 'string', enum: ['low', 'medium', 'high', 'critical'] },
  outcome: { type: 'string', enum: AUDIT_OUTCOMES },
  actor: textOrNull,
  ip: textOrNull,
  user_agent: textOrNull,
  method: textOrNull,
  path: textOrNull,
  error: textOrNull,
  meta: { type: 'object' },
};

const claim = { type: 'string', minLength: 1, maxLength: 100 };
const signIn = {
  issuer: { type: 'string', format: 'uri', maxLength: 2048 },
  client_id: { type: 'string', minLength: 1, maxLength: 255 },
  client_secret: {
    anyOf: [
      { type: 'string', pattern: '^\\$\\{[A-Za-z_][A-Za-z0-9_]*\\}$' },
      object({ $file: { type: 'string' } }),
    ],
  },
  scopes: { type: 'array', items: { type: 'string' }, maxItems: 20 },
  allowed_domains: {
    type: 'array',
    items: { type: 'string' },
    minItems: 1,
    maxItems: 20,
  },
  auto_join: role,
  name_claim: claim,
  email_claim: claim,
  groups_claim: claim,
  roles: { type: 'object', additionalProperties: role },
};
const signInRequired = ['issuer', 'client_id', 'client_secret'];

/** The schemas of requests and answers. */
export const SCHEMAS = {
  Tenant: object(tenant),
  CreatedTenant: object(
    { ...tenant, engine_state: { type: 'string', enum: ['starting'] } },
    Object.keys(tenant),
  ),
  TenantSummary: object({
    ...tenant,
    state: orNull(state),
    source_error_count: orNull(count),
    entities: count,
  }),
  TenantUsage: object({
    tenant_slug: slug,
    live_entities: count,
    shared_entities: count,
    deleted_entities: count,
    relations: count,
    max_entities: tenant.max_entities,
    entity_ttl_days: tenant.entity_ttl_days,
    ...ownLimits,
    created_at: time,
  }),
  TenantUsageDay: object({
    day: { type: 'string', format: 'date' },
    requests: count,
    database_ms: count,
    people: count,
    entities: { type: 'object', additionalProperties: count },
    bytes: count,
  }),
  TenantShare: object(share),
  TenantShares: object({
    shares: { type: 'array', items: object(share) },
    received: {
      type: 'array',
      items: object({
        share_id: shareId,
        tenant_slug: slug,
        copies: count,
        conflicts: count,
      }),
    },
  }),
  CreateShare: {
    ...object(createShare, ['targets', 'filter']),
    additionalProperties: false,
  },
  UpdateShare: {
    ...object(createShare, []),
    minProperties: 1,
    additionalProperties: false,
  },
  TenantAuditPage: object({
    items: { type: 'array', items: object(auditEvent) },
    next_cursor: textOrNull,
  }),
  TenantMember: object({
    principal: { type: 'string', minLength: 1, maxLength: 512 },
    role,
    created_by: { type: 'string' },
    created_at: time,
  }),
  TenantInvitation: object(invitation),
  CreatedInvitation: object({
    ...invitation,
    token: { type: 'string' },
    link: { type: 'string' },
    sent: flag,
  }),
  CreateInvitation: {
    ...object(
      {
        role,
        email: { type: 'string', maxLength: 254 },
        valid_days: { type: 'integer', minimum: 1, maximum: 90, default: 7 },
      },
      ['role'],
    ),
    additionalProperties: false,
  },
  AcceptInvitation: {
    ...object({ token: { type: 'string', maxLength: 200 } }),
    additionalProperties: false,
  },
  PutTenantSignIn: {
    ...object(signIn, signInRequired),
    additionalProperties: false,
  },
  TenantSignIn: object(
    { ...signIn, updated_by: { type: 'string' }, updated_at: time },
    [...signInRequired, 'updated_by', 'updated_at'],
  ),
  CatalogPrincipal: object({
    principal: { type: 'string', minLength: 1, maxLength: 512 },
    kind: { type: 'string', enum: ['group', 'user'] },
    display_name: orNull({ type: 'string' }),
  }),
  Membership: object(membership),
  OpenTenant: object({
    tenant_slug: slug,
    tenant_name: name,
    role: orNull(role),
    ownership_entity_refs: { type: 'array', items: { type: 'string' } },
    administers_tenants: flag,
    named_by: {
      type: 'string',
      enum: ['hostname', 'token', 'header', 'origin', 'call', 'default'],
    },
    base_domain: orNull({ type: 'string' }),
    takes_locations: flag,
    closed_plugins: { type: 'array', items: { type: 'string' } },
    own_tenants: object({
      items: { type: 'array', items: object(membership) },
      totalItems: count,
    }),
    enabled: flag,
  }),
  CreateTenant: {
    ...object(
      {
        tenant_slug: { ...slug, not: { enum: ['www', 'mine'] } },
        tenant_name: name,
        max_entities: maxEntities,
        entity_ttl_days: ttlDays,
        ...ownLimits,
      },
      ['tenant_slug', 'tenant_name'],
    ),
    additionalProperties: false,
  },
  UpdateTenant: {
    ...object(
      {
        tenant_name: name,
        max_entities: maxEntities,
        entity_ttl_days: ttlDays,
        ...ownLimits,
      },
      [],
    ),
    minProperties: 1,
    additionalProperties: false,
  },
  PutMember: { ...object({ role }), additionalProperties: false },
  TenantEngine: object(
    {
      tenant_slug: slug,
      state: {
        type: 'string',
        enum: ['stopped', 'starting', 'running', 'failed'],
      },
      reason: { type: 'string' },
      next_attempt_at: time,
      configured_by: configuredBy,
      paused_at: time,
      paused_by: { type: 'string' },
    },
    ['tenant_slug', 'state', 'configured_by'],
  ),
  TenantStatus: object({
    tenant_slug: slug,
    state,
    reason: orNull({ type: 'string' }),
    paused_at: orNull(time),
    paused_by: orNull({ type: 'string' }),
    entities: count,
    faults: orNull(count),
    lag_seconds: orNull(count),
    oldest_due_at: orNull(time),
    source_errors: orNull({
      type: 'array',
      items: object({
        location: { type: 'string', example: 'https://example.com/a.yaml' },
        entity_ref: { type: 'string', example: 'component:default/a' },
        message: { type: 'string' },
        next_try_at: time,
      }),
    }),
    source_error_count: orNull(count),
    last_error: orNull({ type: 'string' }),
    last_error_at: orNull(time),
    last_full_run_at: orNull(time),
    process: orNull({ type: 'string' }),
    lease_expires_at: orNull(time),
    catalog_version: orNull({ type: 'string', example: '4.0.5' }),
  }),
  CatalogConfig: {
    ...object(sections, []),
    additionalProperties: false,
  },
  TenantCatalogConfig: object(
    {
      configured_by: configuredBy,
      ...sections,
      updated_at: orNull(time),
      updated_by: orNull({ type: 'string' }),
    },
    ['configured_by', 'updated_at', 'updated_by'],
  ),
  Error: object(
    {
      error: object({
        name: { type: 'string' },
        message: { type: 'string' },
      }),
      request: object({
        method: { type: 'string' },
        url: { type: 'string' },
      }),
      response: object({ statusCode: { type: 'integer' } }),
    },
    ['error', 'response'],
  ),
};

/** The name of a schema under `components/schemas`. */
export type SchemaName = keyof typeof SCHEMAS;

/** A reference to a schema under `components/schemas`. */
export const schemaRef: (name: SchemaName) => object = openApiRef;

function object(
  properties: Record<string, object>,
  required = Object.keys(properties),
) {
  return { type: 'object', properties, required };
}

export function orNull(schema: object) {
  return { anyOf: [schema, { type: 'null' }] };
}
