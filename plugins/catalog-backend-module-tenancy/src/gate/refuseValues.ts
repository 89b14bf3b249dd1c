import { InputError } from '@backstage/errors';
import type { ErrorRequestHandler, Request, RequestHandler } from 'express';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** In any case, as Express matches routes. */
const LOCATION = /^\/locations\/([^/]+)\/?$/i;

/** Reads of tenants' catalogs: a NUL matches no entity, as in the stock catalog. */
const CATALOG_READS = /^\/(entities|entity-facets)(\/|\?|$)/;

/** PostgreSQL's largest offset, for pages of 100. */
const LAST_PAGE = 2 ** 56;

/** Checks of values that a plugin's routes do not check, by plugin id. */
const CHECKS: Record<string, (req: Request) => string | undefined> = {
  catalog({ method, path }) {
    const id = LOCATION.exec(path)?.[1];
    // No location takes a POST, but `by-query` does.
    return id === undefined || method === 'POST' || UUID.test(decoded(id))
      ? undefined
      : `The id of a location ${shown(
          decoded(id),
        )} is not a UUID such as "00000000-0000-0000-0000-000000000001"`;
  },
  search({ query: { pageCursor } }) {
    if (typeof pageCursor !== 'string' || pageCursor === '') {
      return undefined;
    }
    // Backstage's search engines number pages. A custom engine may have other cursors.
    const page = Number(Buffer.from(pageCursor, 'base64').toString());
    return Number.isNaN(page) ||
      (Number.isInteger(page) && page >= 0 && page < LAST_PAGE)
      ? undefined
      : `The pageCursor ${shown(
          pageCursor,
        )} is not from an earlier response. Expected its nextPageCursor or previousPageCursor`;
  },
};

/**
 * Refuses values with 400 that a plugin of Backstage would pass to PostgreSQL unchecked and
 * answer with 500. Has no effect on other plugins.
 */
export function refuseValues(pluginId: string): RequestHandler {
  const check = CHECKS[pluginId];
  return (req, _res, next) => {
    const fault =
      /%00/.test(req.url) && !(pluginId === 'catalog' && isRead(req))
        ? 'The URL has a NUL character (%00), which PostgreSQL cannot store. Remove it'
        : check?.(req);
    next(fault && new InputError(fault));
  };
}

/** PostgreSQL's class of errors for values, such as a NUL in a text or a number out of range. */
const DATA_EXCEPTION = /^22...$/;

/**
 * Answers 400 where PostgreSQL has refused a value of a request for the default tenant. Other
 * tenants' engines and instances do so themselves.
 */
export const refuseDataExceptions: ErrorRequestHandler = (
  error,
  { method, path },
  _res,
  next,
) => {
  const isRefused =
    error?.constructor?.name === 'DatabaseError' &&
    DATA_EXCEPTION.test(error.code);
  next(
    isRefused
      ? new InputError(
          `${method} ${path} has a value that PostgreSQL does not take as what it stands for (${error.code}), such as an id that is no UUID or a text with a NUL character`,
        )
      : error,
  );
};

function isRead({ method, url }: Request): boolean {
  return method === 'GET' && CATALOG_READS.test(url);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function shown(value: string): string {
  return JSON.stringify(value.slice(0, 80));
}
