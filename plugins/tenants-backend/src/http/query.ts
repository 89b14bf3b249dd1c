import { InputError } from '@backstage/errors';
import {
  addressOf,
  idOfAttempts,
  parseIdempotencyKey,
  readQuery,
} from '@internal/http';
import { parsePrincipal } from 'backstage-plugin-catalog-tenancy-node';
import { parseInput } from '@internal/http-client';
import {
  type FindPrincipals,
  findPrincipalsSchema,
  type ListTenantAudit,
  type ListTenantUsage,
} from 'backstage-plugin-tenants-common';
import type { Request } from 'express';
import type { z } from 'zod';

/**
 * Parses the query of a list.
 *
 * @throws InputError that names each unknown or malformed parameter
 */
export function parseQuery<TSchema extends z.ZodType>(
  schema: TSchema,
  req: Request,
): z.output<TSchema> {
  return parseInput(schema, readQuery(req), 'query');
}

/**
 * Parses the query for users and groups.
 *
 * @throws InputError that names each unknown or malformed parameter
 */
export function parseFindPrincipalsQuery(
  req: Request,
): FindPrincipals & { limit: number } {
  // Not Express' parser, which converts a long list to an object.
  const { query: named } = addressOf(req);
  const { principal, ...query } = parseInput(
    findPrincipalsSchema,
    {
      ...readQuery(req),
      ...(named.has('principal') && { principal: named.getAll('principal') }),
    },
    'query',
  );
  if (principal && query.search !== undefined) {
    throw new InputError(
      'Invalid query: expected either search or principal, got both',
    );
  }
  return principal
    ? { ...query, principals: principal.map(parsePrincipal) }
    : query;
}

/**
 * Reads the format and the query for an audit trail. The trail itself validates the query.
 */
export function parseAuditQuery(req: Request): {
  asLines: boolean;
  query: ListTenantAudit;
} {
  const { format, ...query } = readQuery(req);
  return { asLines: oneOf(['json', 'jsonl'], format) === 'jsonl', query };
}

/** Reads the query for usage by day; undefined without a query. */
export function parseUsageQuery(
  req: Request,
): { format: string; query: ListTenantUsage } | undefined {
  const given = readQuery(req);
  const { format, ...query } = given;
  return Object.keys(given).length > 0
    ? { format: oneOf(['json', 'csv'], format) ?? 'json', query }
    : undefined;
}

/**
 * The id of what a request creates: by the header `Idempotency-Key`, the same for each attempt.
 *
 * @param what - what is created, or the slug of its tenant, and who creates it
 * @throws InputError for an empty or too long key
 */
export function parseNewId(
  req: Request,
  what: [created: string | object, by: string],
): string | null {
  return idOfAttempts(parseIdempotencyKey(req).idempotencyKey, what);
}

/** The format in a query, if any. */
function oneOf(formats: string[], given: unknown): string | undefined {
  const found = formats.find(format => format === given);
  if (given !== undefined && found === undefined) {
    throw new InputError(
      `Invalid query: format must be one of ${formats.join(
        ', ',
      )}, got ${JSON.stringify(given)}`,
    );
  }
  return found;
}
