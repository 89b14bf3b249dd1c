import { InputError } from '@backstage/errors';
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

/** PostgreSQL's class of errors for values, such as a NUL in a text or a number out of range. */
const DATA_EXCEPTION = /^22...$/;
const UNDEFINED_COLUMN = '42703';

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
  const isRefused =
    error?.constructor?.name === 'DatabaseError' &&
    (DATA_EXCEPTION.test(error.code) ||
      (error.code === UNDEFINED_COLUMN && namesColumn(req, error.message)));
  next(
    isRefused
      ? new InputError(
          `${req.method} ${req.path} has a value that PostgreSQL cannot store or compare (${error.code}), such as an id that is not a UUID, a text with a NUL character or an unknown column`,
        )
      : error,
  );
};

/**
 * Whether the query or the body has the name of the missing column, such as one to sort by. Otherwise
 * a table of the plugin lacks it, as in the middle of an upgrade.
 */
function namesColumn({ query, body }: Request, message: string): boolean {
  // Knex puts the statement in front. Languages differ in all but the name, "a" or t.a.
  const [, quoted, ofTable] =
    /["«»„] ?(.+?) ?["«»“]|\S\.(\S+)/.exec(
      message.slice(message.lastIndexOf(' - ') + 1),
    ) ?? [];
  const name = quoted ?? ofTable;
  return (
    name !== undefined &&
    JSON.stringify([query, body]).includes(JSON.stringify(name).slice(1, -1))
  );
}
