import {
  type ListMembers,
  type ListTenants,
  parseListMembers,
  parseListTenants,
} from 'backstage-plugin-catalog-tenancy-node';
import type { Request } from 'express';

/**
 * Parses the query of the list of tenants.
 *
 * @throws InputError that names each unknown or malformed parameter
 */
export function parseListQuery(req: Request): Required<ListTenants> {
  const { deleted, limit, offset, ...unknown } = req.query;
  return parseListTenants({
    deleted: toBoolean(deleted),
    limit: toNumber(limit),
    offset: toNumber(offset),
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

/** Converts plain decimal numbers; the parser refuses everything else. */
function toNumber(value: unknown): unknown {
  return typeof value === 'string' && /^\d+$/.test(value)
    ? Number(value)
    : value;
}

function toBoolean(value: unknown): unknown {
  return value === 'true' || (value === 'false' ? false : value);
}
