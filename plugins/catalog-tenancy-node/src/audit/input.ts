import { InputError } from '@backstage/errors';
import type { ListTenantAudit } from 'backstage-plugin-tenants-common';
import { z } from 'zod';
import { integer, parseInput } from '../tenants/input';

const PART = 'a text of 1 to 200 characters';
const TIME = 'a time such as 2026-01-31T12:00:00Z';

const part = z
  .string({ error: PART })
  .min(1, PART)
  .max(200, PART)
  .refine(text => !/[\0\p{Surrogate}]/u.test(text), PART)
  .transform(text => text.toLowerCase());

const time = z.iso
  .datetime({ offset: true, error: TIME })
  .refine(text => new Date(text).getFullYear() > 0, TIME)
  .transform(text => new Date(text).toISOString());

const listSchema = z.strictObject(
  {
    actor: part.optional(),
    event: part.optional(),
    outcome: z
      .enum(['succeeded', 'failed', 'unknown'], {
        error: '"succeeded", "failed" or "unknown"',
      })
      .optional(),
    from: time.optional(),
    to: time.optional(),
    limit: integer(1, 500).default(100),
    cursor: z.string({ error: 'a next_cursor of an earlier page' }).optional(),
  },
  { error: 'an object' },
);

/** Where the next page begins: after this event. */
export interface AuditCursor {
  at: string;
  id: string;
}

/** A query of an audit trail, with its defaults. */
export type AuditQuery = Omit<ListTenantAudit, 'cursor' | 'limit'> & {
  limit: number;
  after?: AuditCursor;
};

/** @throws InputError that names each bad value and the form that was expected */
export function parseListTenantAudit(input: unknown): AuditQuery {
  const { cursor, ...query } = parseInput(listSchema, input, 'query');
  return { ...query, after: cursor === undefined ? undefined : parse(cursor) };
}

export function formatCursor({ at, id }: AuditCursor): string {
  return Buffer.from(`${at} ${id}`).toString('base64url');
}

const CURSOR = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) ([\da-f-]{36})$/;

function parse(cursor: string): AuditCursor {
  const [, at, id] =
    CURSOR.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  if (!at || !id || Number.isNaN(Date.parse(at))) {
    throw new InputError(
      `Invalid query: cursor must be a next_cursor of an earlier page, got ${JSON.stringify(
        cursor.slice(0, 60),
      )}`,
    );
  }
  return { at, id };
}
