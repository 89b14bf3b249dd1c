import { z } from 'zod';
import type {
  ListTenantAudit,
  TenantAuditEvent,
  TenantAuditPage,
} from '../types';
import { integer, time, uuid } from './fields';

const PART = 'a text of 1 to 200 characters';
const TIME = 'a time such as 2026-01-31T12:00:00Z';

const part = z
  .string({ error: PART })
  .min(1, PART)
  .max(200, PART)
  .refine(text => !/[\0\p{Surrogate}]/u.test(text), PART)
  .transform(text => text.toLowerCase());

const givenTime = z.iso
  .datetime({ offset: true, error: TIME, abort: true })
  .refine(text => new Date(text).getFullYear() > 0, TIME)
  .transform(text => new Date(text).toISOString());

const outcome = z.enum(['succeeded', 'failed', 'unknown'], {
  error: '"succeeded", "failed" or "unknown"',
});

/**
 * The query of `GET /api/tenants/:slug/audit` but for its `format`, with the default filled in.
 *
 * @public
 */
export const listTenantAuditSchema: z.ZodType<
  ListTenantAudit & { limit: number }
> = z.strictObject(
  {
    actor: part.optional(),
    event: part.optional(),
    outcome: outcome.optional(),
    from: givenTime.optional(),
    to: givenTime.optional(),
    limit: integer(1, 500).default(100),
    cursor: z.string({ error: 'a next_cursor of an earlier page' }).optional(),
  },
  { error: 'an object' },
);

const text = z.string().nullable();

const event: z.ZodType<TenantAuditEvent> = z.object({
  id: uuid,
  at: time,
  plugin: z.string(),
  event: z.string().meta({ example: 'put-tenant-member' }),
  severity: z.enum(['low', 'medium', 'high', 'critical']),
  outcome,
  actor: text,
  ip: text,
  user_agent: text,
  method: text,
  path: text,
  error: text,
  meta: z.record(z.string(), z.unknown()),
});

/**
 * A page of an audit trail.
 *
 * @public
 */
export const tenantAuditPageSchema: z.ZodType<TenantAuditPage> = z.object({
  items: z.array(event),
  next_cursor: text,
});
