import { z } from 'zod';
import { count } from './fields';

const DAY = 'a day such as 2026-01-31';

const day = z.iso
  .date({ error: DAY, abort: true })
  // PostgreSQL has no year 0.
  .refine(text => text >= '1000', DAY);

/** The query of `GET /api/tenants/:slug/usage` but for its `format`. @public */
export const listTenantUsageSchema = z.strictObject(
  {
    /** The first day, such as `2026-01-01` */
    from: day.optional(),
    /** The last day; today by default. */
    to: day.optional(),
  },
  { error: 'an object' },
);

/** Which days are asked for: the last 30 by default, and 400 at most. @public */
export type ListTenantUsage = z.infer<typeof listTenantUsageSchema>;

/** What a tenant has used on one day. @public */
export const tenantUsageDaySchema = z.object({
  /** Such as `2026-01-31` */
  day,
  /** Requests that were let into the tenant. */
  requests: count,
  /** For how long, in milliseconds, its operations have had a connection to the database. */
  database_ms: count,
  /** How many users sent requests. */
  people: count,
  /** How many entities of each kind it had when they were counted last. */
  entities: z.record(z.string(), count),
  /** The size of these entities. */
  bytes: count,
});

/** What a tenant has used on one day, in UTC. @public */
export type TenantUsageDay = z.infer<typeof tenantUsageDaySchema>;
