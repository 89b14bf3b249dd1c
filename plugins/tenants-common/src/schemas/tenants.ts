import { z } from 'zod';
import type {
  CreatedTenant,
  CreateTenant,
  ListTenants,
  ListTenantSummaries,
  Membership,
  OpenTenant,
  Tenant,
  TenantSummary,
  TenantUsage,
  UpdateTenant,
} from '../types';
import { ENGINE_STATES } from './engines';
import {
  count,
  integer,
  pageFields,
  role,
  slug,
  text,
  time,
  uuid,
} from './fields';

const LARGEST_INT4 = 2_147_483_647;

// A hostname that begins with `www` names no tenant (specification, "Tenant
// resolution"), so that one of that name would be out of reach. The route
// /api/tenants/mine answers with the tenants of the caller.
const RESERVED_SLUGS = ['www', 'mine'];

const BURST = 'null, or come together with requests_per_second';
const STATES = [...ENGINE_STATES, 'deleted', 'with_errors'] as const;
const ORDERS = ['slug', 'name', 'newest'] as const;

const name = text('a text of 1 to 255 characters', 1, 255);
const maxEntities = integer(0, LARGEST_INT4);
const ttlDays = integer(1, LARGEST_INT4);

/** A limit that holds in place of the configured one, unless it is null. */
function ownLimit(maximum: number) {
  const expected = `an integer from 1 to ${maximum}, or null for the default`;
  return z
    .int({ error: expected })
    .min(1, expected)
    .max(maximum, expected)
    .nullable();
}

/** The limits by their names, all of which the registry has a column for. */
const ownLimits = {
  concurrency: ownLimit(10_000),
  requests_per_second: ownLimit(1_000_000),
  burst: ownLimit(1_000_000),
};

const changes = z
  .strictObject({
    tenant_name: name,
    max_entities: maxEntities,
    entity_ttl_days: ttlDays,
    ...ownLimits,
  })
  .partial();

const CHANGES = `an object with one or more of ${new Intl.ListFormat('en-GB', {
  type: 'conjunction',
}).format(Object.keys(changes.shape))}`;

/**
 * The body of `POST /api/tenants`.
 *
 * @public
 */
export const createTenantSchema: z.ZodType<CreateTenant> = z
  .strictObject(
    {
      tenant_slug: slug
        .refine(value => !RESERVED_SLUGS.includes(value), {
          error: `other than ${RESERVED_SLUGS.join(' and ')} (reserved)`,
        })
        .meta({ not: { enum: RESERVED_SLUGS } }),
      ...changes.shape,
      tenant_name: name,
    },
    { error: 'an object with tenant_slug and tenant_name' },
  )
  .refine(hasRateOfBurst, { error: BURST, path: ['burst'] });

/**
 * The body of `PATCH /api/tenants/:slug`.
 *
 * @public
 */
export const updateTenantSchema: z.ZodType<UpdateTenant> = z
  .strictObject(changes.shape, { error: CHANGES })
  .refine(given => Object.values(given).some(value => value !== undefined), {
    error: CHANGES,
  })
  .refine(hasRateOfBurst, { error: BURST, path: ['burst'] })
  .meta({ minProperties: 1 })
  // Without the rate there is nothing that a burst could be of.
  .transform(given =>
    given.requests_per_second === null ? { ...given, burst: null } : given,
  );

const list = z.strictObject(
  {
    deleted: z.boolean({ error: 'true or false' }).default(false),
    search: text('a text of at most 255 characters', 0, 255).default(''),
    ...pageFields,
  },
  { error: 'an object' },
);

/**
 * Which part of the registry is asked for, with the defaults filled in.
 *
 * @public
 */
export const listTenantsSchema: z.ZodType<Required<ListTenants>> = list;

/**
 * The query of `GET /api/tenants`, with the defaults filled in.
 *
 * @public
 */
export const listTenantsQuerySchema: z.ZodType<
  Required<ListTenants> & ListTenantSummaries & { summary: boolean }
> = list
  .extend({
    summary: z.boolean({ error: 'true or false' }).default(false),
    state: z.enum(STATES, { error: `one of ${STATES.join(', ')}` }).optional(),
    orderBy: z
      .enum(ORDERS, { error: `one of ${ORDERS.join(', ')}` })
      .optional(),
  })
  .refine(({ summary, state }) => summary || state === undefined, {
    path: ['state'],
    error: 'left out without summary=true',
  })
  .refine(({ summary, orderBy }) => summary || orderBy === undefined, {
    path: ['orderBy'],
    error: 'left out without summary=true',
  })
  // To count the entities of a tenant is work for the database.
  .refine(({ summary, limit }) => !summary || limit <= 100, {
    path: ['limit'],
    error: 'at most 100 with summary=true',
  });

const tenant = z.object({
  tenant_id: uuid,
  tenant_slug: slug,
  tenant_name: name,
  max_entities: maxEntities.nullable(),
  entity_ttl_days: ttlDays.nullable(),
  ...ownLimits,
  created_at: time,
  updated_at: time,
  deleted_at: time.nullable(),
});

/**
 * A row of the registry.
 *
 * @public
 */
export const tenantSchema: z.ZodType<Tenant> = tenant;

/**
 * A tenant that was just created.
 *
 * @public
 */
export const createdTenantSchema: z.ZodType<CreatedTenant> = tenant.extend({
  engine_state: z.literal('starting').optional(),
});

/**
 * A row of the registry with what the tenant holds and what feeds it.
 *
 * @public
 */
export const tenantSummarySchema: z.ZodType<TenantSummary> = tenant.extend({
  state: z.enum(ENGINE_STATES).nullable(),
  source_error_count: count.nullable(),
  entities: count,
});

/**
 * What a tenant holds, beside what it may.
 *
 * @public
 */
export const tenantUsageSchema: z.ZodType<TenantUsage> = z.object({
  ...tenant.pick({
    tenant_slug: true,
    max_entities: true,
    entity_ttl_days: true,
    concurrency: true,
    requests_per_second: true,
    burst: true,
    created_at: true,
  }).shape,
  live_entities: count,
  shared_entities: count,
  deleted_entities: count,
  relations: count,
});

/**
 * A tenant that somebody may enter.
 *
 * @public
 */
export const membershipSchema: z.ZodType<Membership> = z.object({
  tenant_slug: slug,
  tenant_name: name,
  role,
});

/**
 * The tenant that a request belongs to, for its caller.
 *
 * @public
 */
export const openTenantSchema: z.ZodType<OpenTenant> = z.object({
  tenant_slug: slug,
  tenant_name: name,
  role: role.nullable(),
  ownership_entity_refs: z.array(z.string()),
  administers_tenants: z.boolean(),
  named_by: z.enum([
    'hostname',
    'token',
    'header',
    'origin',
    'call',
    'default',
  ]),
  base_domain: z.string().nullable(),
  takes_locations: z.boolean(),
  closed_plugins: z.array(z.string()),
  own_tenants: z.object({
    items: z.array(membershipSchema),
    totalItems: count,
  }),
  enabled: z.boolean(),
});

/** By what is given alone: of two changes at once, neither has to know of the other. */
function hasRateOfBurst({
  burst,
  requests_per_second: rate,
}: Pick<UpdateTenant, 'burst' | 'requests_per_second'>): boolean {
  return typeof burst !== 'number' || typeof rate === 'number';
}
