import { InputError } from '@backstage/errors';
import { parseInput } from '@internal/http-client';
import {
  type ListTenantAudit,
  listTenantAuditSchema,
} from 'backstage-plugin-tenants-common';

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
  const { cursor, ...query } = parseInput(
    listTenantAuditSchema,
    input,
    'query',
  );
  return { ...query, after: cursor === undefined ? undefined : parse(cursor) };
}

export function formatCursor({ at, id }: AuditCursor): string {
  return Buffer.from(`${at} ${id}`).toString('base64url');
}

const CURSOR = /^(\S+) ([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})$/;

function parse(cursor: string): AuditCursor {
  const [, time, id] =
    CURSOR.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  const { data: at } = listTenantAuditSchema.shape.to.safeParse(time);
  if (!at || !id) {
    throw new InputError(
      `Invalid query: cursor must be a next_cursor of an earlier page, got ${JSON.stringify(
        cursor.slice(0, 60),
      )}`,
    );
  }
  return { at, id };
}
