import { InputError } from '@backstage/errors';
import {
  type ListMembers,
  type ListTenants,
  parseFindPrincipals,
  parseListMembers,
  parseListTenants,
} from 'backstage-plugin-catalog-tenancy-node';
import type { FindPrincipals } from 'backstage-plugin-tenants-common';
import type { Request } from 'express';

/** To count the entities of a tenant is work for the database. */
const LARGEST_PAGE_OF_SUMMARIES = 100;

/**
 * Parses the query of the list of tenants, and whether it asks for summaries of them.
 *
 * @throws InputError that names each unknown or malformed parameter
 */
export function parseListQuery(
  req: Request,
): Required<ListTenants> & { summary: boolean } {
  const { deleted, limit, offset, search, summary, ...unknown } = req.query;
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
  return { ...query, summary: isSummary };
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

/** Converts plain decimal numbers; the parser refuses everything else. */
function toNumber(value: unknown): unknown {
  return typeof value === 'string' && /^\d+$/.test(value)
    ? Number(value)
    : value;
}

function toBoolean(value: unknown): unknown {
  return value === 'true' || (value === 'false' ? false : value);
}
