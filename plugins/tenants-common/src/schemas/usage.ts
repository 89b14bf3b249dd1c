import { z } from 'zod';
import type { ListTenantUsage, TenantUsageDay } from '../types';
import { count } from './fields';

const day = z.iso.date({ error: 'a day such as 2026-01-31' });

/**
 * The query of `GET /api/tenants/:slug/usage` but for its `format`.
 *
 * @public
 */
export const listTenantUsageSchema: z.ZodType<ListTenantUsage> = z.strictObject(
  { from: day.optional(), to: day.optional() },
  { error: 'an object' },
);

/**
 * What a tenant has used on one day.
 *
 * @public
 */
export const tenantUsageDaySchema: z.ZodType<TenantUsageDay> = z.object({
  day,
  requests: count,
  database_ms: count,
  people: count,
  entities: z.record(z.string(), count),
  bytes: count,
});
