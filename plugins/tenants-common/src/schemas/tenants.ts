import { z } from 'zod';
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
  /** Operations under way in each process: 1 to 10,000; null for the configured default. */
  concurrency: ownLimit(10_000),
  /** Requests a second to each process: 1 to 1,000,000; null for the configured default. */
  requests_per_second: ownLimit(1_000_000),
  /**
   * How many of these may come at once: 1 to 1,000,000, only together with
   * `requests_per_second`; null for as many as in a second.
   */
  burst: ownLimit(1_000_000),
};

const changes = z
  .strictObject({
    /** 1 to 255 characters */
    tenant_name: name,
    /** 0 or more; 50000 by default */
    max_entities: maxEntities,
    /** 1 or more; 365 by default */
    entity_ttl_days: ttlDays,
    ...ownLimits,
  })
  .partial();

const CHANGES = `an object with one or more of ${new Intl.ListFormat('en-GB', {
  type: 'conjunction',
}).format(Object.keys(changes.shape))}`;

/** The body of `POST /api/tenants`. @public */
export const createTenantSchema = z
  .strictObject(
    {
      /** Matches `^[a-z0-9-]+$`, at most 63 characters; `www` is reserved. */
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

/** A tenant that is to be created. @public */
export type CreateTenant = z.input<typeof createTenantSchema>;

/** The body of `PATCH /api/tenants/:slug`. @public */
export const updateTenantSchema = z
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

/**
 * What is to change of a tenant: one thing at least. A slug stays for ever, for it
 * is part of addresses and tokens. To take `requests_per_second` away takes `burst` away.
 *
 * @public
 */
export type UpdateTenant = z.input<typeof updateTenantSchema>;

/** Which part of the registry is asked for, with the defaults filled in. @public */
export const listTenantsSchema = z.strictObject(
  {
    /** Deleted tenants too; without them by default. */
    deleted: z.boolean({ error: 'true or false' }).default(false),
    /**
     * Those whose slug or name contains this text, in any case: 255 characters at most; all
     * by default.
     */
    search: text('a text of at most 255 characters', 0, 255).default(''),
    ...pageFields,
  },
  { error: 'an object' },
);

/** Which tenants of the registry are asked for. @public */
export type ListTenants = z.input<typeof listTenantsSchema>;

/** The query of `GET /api/tenants`, with the defaults filled in. @public */
export const listTenantsQuerySchema = listTenantsSchema
  .extend({
    summary: z.boolean({ error: 'true or false' }).default(false),
    /**
     * Those in this state alone; `with_errors` are those whose sources have errors, or were not
     * counted within 2 seconds.
     */
    state: z.enum(STATES, { error: `one of ${STATES.join(', ')}` }).optional(),
    /** By `slug` where it is not given. */
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

/** A row of the registry. @public */
export const tenantSchema = z.object({
  /** A UUID. It never changes. */
  tenant_id: uuid,
  /** Matches `^[a-z0-9-]+$`, at most 63 characters. It never changes. */
  tenant_slug: slug,
  /** What people call the tenant: 1 to 255 characters. */
  tenant_name: name,
  /** How many live entities the tenant may have; null, which only SQL sets: any. */
  max_entities: maxEntities.nullable(),
  /** How many days deleted entities are kept; null, which only SQL sets: for ever. */
  entity_ttl_days: ttlDays.nullable(),
  ...ownLimits,
  /** ISO 8601, UTC */
  created_at: time,
  /** ISO 8601, UTC */
  updated_at: time,
  /** ISO 8601, UTC; set while the tenant is deleted */
  deleted_at: time.nullable(),
});

/** A row of the registry, as the API shows it (specification B.1). @public */
export type Tenant = z.infer<typeof tenantSchema>;

/** A tenant that was just created. @public */
export const createdTenantSchema = tenantSchema.extend({
  /** Its catalog engine is being made: requests for it wait some seconds. */
  engine_state: z.literal('starting').optional(),
});

/** A tenant that has just been created. @public */
export type CreatedTenant = z.infer<typeof createdTenantSchema>;

/** A row of the registry with what the tenant holds and what feeds it. @public */
export const tenantSummarySchema = tenantSchema.extend({
  /** As in {@link TenantStatus.state}; null while the tenant is deleted. */
  state: z.enum(ENGINE_STATES).nullable(),
  /** As in {@link TenantStatus.source_error_count}. */
  source_error_count: count.nullable(),
  /** Entities that are served: what `max_entities` bounds. */
  entities: count,
});

/** A row of the registry with what the tenant holds and what feeds it. @public */
export type TenantSummary = z.infer<typeof tenantSummarySchema>;

/** What a tenant holds, beside what it may. @public */
export const tenantUsageSchema = z.object({
  ...tenantSchema.pick({
    tenant_slug: true,
    max_entities: true,
    entity_ttl_days: true,
    concurrency: true,
    requests_per_second: true,
    burst: true,
    created_at: true,
  }).shape,
  /** Entities that are served: what `max_entities` bounds. */
  live_entities: count,
  /** Copies of what other tenants share, which `max_entities` does not count. */
  shared_entities: count,
  /** Deleted entities that are kept until `entity_ttl_days` are over. */
  deleted_entities: count,
  /** Relations of its entities. */
  relations: count,
});

/** What a tenant holds, and what it may: for its own admins, too. @public */
export type TenantUsage = z.infer<typeof tenantUsageSchema>;

/** A tenant that somebody may enter. @public */
export const membershipSchema = z.object({
  /** What requests call the tenant. */
  tenant_slug: slug,
  /** What people call the tenant. */
  tenant_name: name,
  /** The highest of the roles that they have there. */
  role,
});

/** A tenant that somebody may enter. @public */
export type Membership = z.infer<typeof membershipSchema>;

/** The tenant that a request belongs to, for its caller. @public */
export const openTenantSchema = z.object({
  /** What requests call the tenant. */
  tenant_slug: slug,
  /** What people call the tenant. */
  tenant_name: name,
  /**
   * The highest of the roles that the caller has there; null for one who may enter without
   * being a member.
   */
  role: role.nullable(),
  /**
   * What the caller owns in the tenant: themselves, and the groups that they belong to there. Empty
   * in the default tenant, where the sign-in says it, and for services.
   */
  ownership_entity_refs: z.array(z.string()),
  /** Whether the caller may see all tenants of the registry. */
  administers_tenants: z.boolean(),
  /**
   * What of the request names the tenant: the hostname, a tenant's token, the header
   * `X-Tenant-Slug`, the page at a tenant's hostname that sends it to another host, the
   * plugin that makes it while it handles another request; or nothing.
   */
  named_by: z.enum([
    'hostname',
    'token',
    'header',
    'origin',
    'call',
    'default',
  ]),
  /** The first of `tenancy.baseDomains`, below which tenants have their hostnames. */
  base_domain: z.string().nullable(),
  /** Whether locations can be registered: the backend has engines, or it is the default tenant. */
  takes_locations: z.boolean(),
  /**
   * The plugins, by id, that refuse the tenant. Only those that run in the process that
   * answers are known.
   */
  closed_plugins: z.array(z.string()),
  /** The first 100 tenants that the caller may enter, by slug, and how many there are. */
  own_tenants: z.object({
    items: z.array(membershipSchema),
    totalItems: count,
  }),
  /** Whether multi-tenancy is on; otherwise every request belongs to the default tenant. */
  enabled: z.boolean(),
});

/**
 * The tenant that a request belongs to, as its caller sees it: what a page has to know of the
 * tenant that is open in it.
 *
 * @public
 */
export type OpenTenant = z.infer<typeof openTenantSchema>;

/** By what is given alone: of two changes at once, neither has to know of the other. */
function hasRateOfBurst({
  burst,
  requests_per_second: rate,
}: Partial<Pick<Tenant, 'burst' | 'requests_per_second'>>): boolean {
  return typeof burst !== 'number' || typeof rate === 'number';
}
