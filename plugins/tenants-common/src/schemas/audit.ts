import { z } from 'zod';
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
  .transform(text => new Date(text).toISOString())
  // PostgreSQL has no year 0, and a year of five digits is written differently there.
  .refine(text => /^[1-9]/.test(text), TIME);

const outcome = z.enum(['succeeded', 'failed', 'unknown'], {
  error: '"succeeded", "failed" or "unknown"',
});

/**
 * The query of `GET /api/tenants/:slug/audit` but for its `format`, with the default filled in.
 *
 * @public
 */
export const listTenantAuditSchema = z.strictObject(
  {
    /** A part of the actor's reference, in any case. */
    actor: part.optional(),
    /** A part of the event's name, in any case. */
    event: part.optional(),
    /** What became of it. */
    outcome: outcome.optional(),
    /** The earliest time: ISO 8601 */
    from: givenTime.optional(),
    /** The time before which events are listed: ISO 8601 */
    to: givenTime.optional(),
    /** 1 to 500; 100 by default */
    limit: integer(1, 500).default(100),
    /** As in {@link TenantAuditPage.next_cursor}. */
    cursor: z.string({ error: 'a next_cursor of an earlier page' }).optional(),
  },
  { error: 'an object' },
);

/** Which part of an audit trail is asked for. @public */
export type ListTenantAudit = z.input<typeof listTenantAuditSchema>;

const text = z.string().nullable();

const event = z.object({
  /** A UUID. */
  id: uuid,
  /** When the operation began: ISO 8601, UTC */
  at: time,
  /** The id of the plugin that did it. */
  plugin: z.string(),
  /** What was done, such as `put-tenant-member`. */
  event: z.string().meta({ example: 'put-tenant-member' }),
  /** As Backstage's auditor has it: what changes something is at least `medium`. */
  severity: z.enum(['low', 'medium', 'high', 'critical']),
  /** What became of it. */
  outcome,
  /** The user or service; null where nobody had signed in. */
  actor: text,
  /** The address that the request came from; null for work in the background. */
  ip: text,
  /** The header `User-Agent` of the request. */
  user_agent: text,
  /** The method of the request. */
  method: text,
  /** The path of the request, without its query. */
  path: text,
  /** Why it failed; only the kind of error where that is the backend's own. */
  error: text,
  /** What else the plugin tells of it, without secrets. */
  meta: z.record(z.string(), z.unknown()),
});

/** A page of an audit trail. @public */
export const tenantAuditPageSchema = z.object({
  /** The newest first. */
  items: z.array(event),
  /** Leads to the next page; null on the last one. */
  next_cursor: text,
});

/** A page of an audit trail. @public */
export type TenantAuditPage = z.infer<typeof tenantAuditPageSchema>;

/** An operation in a tenant, as its audit trail has it. @public */
export type TenantAuditEvent = TenantAuditPage['items'][number];

/**
 * What became of an operation. `unknown` is one that has not ended yet, whose process ended before it
 * did, or of which the database's answer was lost.
 *
 * @public
 */
export type TenantAuditOutcome = TenantAuditEvent['outcome'];
