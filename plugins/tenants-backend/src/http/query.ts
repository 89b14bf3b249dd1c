import {
  type ListMembers,
  type ListTenants,
  parseFindPrincipals,
  parseListMembers,
  parseListTenants,
} from 'backstage-plugin-catalog-tenancy-node';
import type { FindPrincipals } from 'backstage-plugin-tenants-common';
import type { Request } from 'express';

/**
 * Parses the query of the list of tenants.
 *
 * @throws InputError that names each unknown or malformed parameter
 */
export function parseListQuery(req: Request): Required<ListTenants> {
  const { deleted, limit, offset, search, ...unknown } = req.query;
  return parseListTenants({
    deleted: toBoolean(deleted),
    limit: toNumber(limit),
    offset: toNumber(offset),
    search,
    ...unknown,
  });
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
