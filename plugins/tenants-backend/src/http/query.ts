import { InputError } from '@backstage/errors';
import {
  type ListMembers,
  type ListTenants,
  parseFindPrincipals,
  parseListMembers,
  parseListTenants,
} from 'backstage-plugin-catalog-tenancy-node';
import type {
  FindPrincipals,
  ListTenantAudit,
  ListTenantUsage,
  ListTenantSummaries,
} from 'backstage-plugin-tenants-common';
import type { Request } from 'express';

/** To count the entities of a tenant is work for the database. */
const LARGEST_PAGE_OF_SUMMARIES = 100;

/** The states of a tenant's engine. */
export const ENGINE_STATES = [
  'catalog_plugin',
  'paused',
  'unassigned',
  'stopped',
  'starting',
  'running',
  'failed',
  'unknown',
] as const;

/** What the list of summaries can be narrowed to. */
export const STATES = [
  ...ENGINE_STATES,
  'deleted',
  'with_errors',
] as const satisfies readonly ListTenantSummaries['state'][];

export const ORDERS = [
  'slug',
  'name',
  'newest',
] as const satisfies readonly ListTenantSummaries['orderBy'][];

/**
 * Parses the query of the list of tenants, and whether it asks for summaries of them.
 *
 * @throws InputError that names each unknown or malformed parameter
 */
export function parseListQuery(req: Request): Required<ListTenants> & {
  /** Nothing where tenants alone are asked for. */
  summary?: Pick<ListTenantSummaries, 'orderBy' | 'state'>;
} {
  const { summary, orderBy, state, ...rest } = req.query;
  const { deleted, limit, offset, search, ...unknown } = rest;
  const query = parseListTenants({
    deleted: toBoolean(deleted),
    limit: toNumber(limit),
    offset: toNumber(offset),
    search,
    ...unknown,
  });
  const isSummary = toBoolean(summary ?? 'false');
  if (typeof isSummary !== 'boolean') {
    throw new InputError(
      `Invalid query: summary must be true or false, got ${JSON.stringify(
        summary,
      )}`,
    );
  }
  if (isSummary && query.limit > LARGEST_PAGE_OF_SUMMARIES) {
    throw new InputError(
      `Invalid query: limit must be at most ${LARGEST_PAGE_OF_SUMMARIES} with summary=true, got ${query.limit}`,
    );
  }
  if (!isSummary && (state ?? orderBy) !== undefined) {
    throw new InputError('Invalid query: state and orderBy need summary=true');
  }
  return {
    ...query,
    ...(isSummary && {
      summary: {
        state: oneOf('state', STATES, state),
        orderBy: oneOf('orderBy', ORDERS, orderBy),
      },
    }),
  };
}

function oneOf<T extends string>(
  name: string,
  values: readonly T[],
  given: unknown,
): T | undefined {
  const found = values.find(value => value === given);
  if (given !== undefined && found === undefined) {
    throw new InputError(
      `Invalid query: ${name} must be one of ${values.join(
        ', ',
      )}, got ${JSON.stringify(given)}`,
    );
  }
  return found;
}

/**
 * Parses which part of any other list a request names.
 *
 * @throws InputError that names each unknown or malformed parameter
 */
export function parsePageQuery(req: Request): Required<ListMembers> {
  const { limit, offset, ...unknown } = req.query;
  return parseListMembers({
    limit: toNumber(limit),
    offset: toNumber(offset),
    ...unknown,
  });
}

/**
 * Parses which users and groups a request asks for.
 *
 * @throws InputError that names each unknown or malformed parameter
 */
export function parseFindPrincipalsQuery(
  req: Request,
): FindPrincipals & { limit: number } {
  const { limit, principal, search, ...unknown } = req.query;
  // Not Express' reading of it, which makes an object of a long list.
  const query = new URLSearchParams(req.originalUrl.split('?', 2)[1]);
  return parseFindPrincipals({
    limit: toNumber(limit),
    principal: query.has('principal') ? query.getAll('principal') : undefined,
    search,
    ...unknown,
  });
}

/**
 * Reads which events of an audit trail a request asks for, and whether as JSON lines. Whoever
 * reads the trail parses the query.
 */
export function parseAuditQuery(req: Request): {
  asLines: boolean;
  query: ListTenantAudit;
} {
  const { format, limit, ...rest } = req.query;
  const isGiven = oneOf('format', ['json', 'jsonl'], format);
  return {
    asLines: isGiven
      ? isGiven === 'jsonl'
      : req.accepts(['json', 'application/jsonl']) === 'application/jsonl',
    query: {
      ...rest,
      ...(limit !== undefined && { limit: toNumber(limit) }),
    } as ListTenantAudit,
  };
}

/** Reads which days of its use a request asks for; nothing where it asks for none. */
export function parseUsageQuery(
  req: Request,
): { format: string; query: ListTenantUsage } | undefined {
  const { format, ...query } = req.query;
  return Object.keys(req.query).length > 0
    ? {
        format: oneOf('format', ['json', 'csv'], format) ?? 'json',
        query: query as ListTenantUsage,
      }
    : undefined;
}

/** Converts plain decimal numbers; the parser refuses everything else. */
function toNumber(value: unknown): unknown {
  return typeof value === 'string' && /^\d+$/.test(value)
    ? Number(value)
    : value;
}

function toBoolean(value: unknown): unknown {
  return value === 'true' || (value === 'false' ? false : value);
}
