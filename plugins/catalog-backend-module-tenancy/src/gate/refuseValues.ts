import { InputError } from '@backstage/errors';
import { refusedValue } from 'backstage-plugin-catalog-tenancy-node';
import type { ErrorRequestHandler, Request, RequestHandler } from 'express';

/** Reads of tenants' catalogs: a NUL matches no entity, as in the stock catalog. */
const CATALOG_READS = /^\/(entities|entity-facets)(\/|\?|$)/;

/** PostgreSQL's largest offset, for pages of 100. */
const LAST_PAGE = 2 ** 56;

/** Backstage's search engines number pages. A custom engine may have other cursors. */
function faultOfCursor({ query: { pageCursor } }: Request): string | undefined {
  if (typeof pageCursor !== 'string' || pageCursor === '') {
    return undefined;
  }
  const page = Number(Buffer.from(pageCursor, 'base64').toString());
  return Number.isNaN(page) ||
    (Number.isInteger(page) && page >= 0 && page < LAST_PAGE)
    ? undefined
    : `The pageCursor ${JSON.stringify(
        pageCursor.slice(0, 80),
      )} is not from an earlier response. Expected its nextPageCursor or previousPageCursor`;
}

/**
 * Refuses values with 400 that a plugin of Backstage would pass to PostgreSQL unchecked and
 * answer with 500. Has no effect on other plugins.
 */
export function refuseValues(pluginId: string): RequestHandler {
  return (req, _res, next) => {
    const isRead =
      pluginId === 'catalog' &&
      req.method === 'GET' &&
      CATALOG_READS.test(req.url);
    const fault =
      /%00/.test(req.url) && !isRead
        ? 'The URL has a NUL character (%00), which PostgreSQL cannot store. Remove it'
        : pluginId === 'search' && faultOfCursor(req);
    next(fault ? new InputError(fault) : undefined);
  };
}

/**
 * Answers 400 where PostgreSQL has refused a value of a request for the default tenant. Other
 * tenants' engines and instances do so themselves.
 */
export const refuseDataExceptions: ErrorRequestHandler = (
  error,
  req,
  _res,
  next,
) => {
  const isOfDatabase = error?.constructor?.name === 'DatabaseError';
  next(
    (isOfDatabase && refusedValue(error, `${req.method} ${req.path}`, req)) ||
      error,
  );
};
