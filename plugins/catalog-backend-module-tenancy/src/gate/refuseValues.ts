import { InputError } from '@backstage/errors';
import type { Request, RequestHandler } from 'express';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const LOCATION = /^\/locations\/([^/]+)\/?$/;

/** What is no id beside the ids of locations. */
const LOCATION_ROUTES = ['by-query', 'by-entity'];

/** What the tenants' catalog answers itself: it finds nothing for a NUL, as the stock catalog. */
const CATALOG_READS = /^\/(entities|entity-facets)(\/|\?|$)/;

/** PostgreSQL's largest offset, for pages of 100. */
const LAST_PAGE = 2 ** 56;

/** By the id of a plugin: what is wrong with a value that its routes do not check. */
const CHECKS: Record<string, (req: Request) => string | undefined> = {
  catalog(req) {
    const id = LOCATION.exec(req.path)?.[1];
    return id === undefined ||
      LOCATION_ROUTES.includes(id) ||
      UUID.test(decoded(id))
      ? undefined
      : `The id of a location ${shown(
          decoded(id),
        )} is no UUID, such as "00000000-0000-0000-0000-000000000001"`;
  },
  search({ query: { pageCursor } }) {
    if (typeof pageCursor !== 'string' || pageCursor === '') {
      return undefined;
    }
    // The engines of Backstage number pages. One of your own may have other cursors.
    const page = Number(Buffer.from(pageCursor, 'base64').toString());
    return Number.isNaN(page) ||
      (Number.isInteger(page) && page >= 0 && page < LAST_PAGE)
      ? undefined
      : `The pageCursor ${shown(
          pageCursor,
        )} is none of an earlier answer. Expected its nextPageCursor or previousPageCursor`;
  },
};

/**
 * Answers 400 to values that a plugin of Backstage would hand to PostgreSQL as they are, and
 * answer 500 for: the caller has made the mistake. For other plugins it does nothing.
 */
export function refuseValues(pluginId: string): RequestHandler {
  const check = CHECKS[pluginId];
  return (req, _res, next) => {
    const fault =
      /%00/.test(req.url) && !(pluginId === 'catalog' && isRead(req))
        ? 'The URL has a NUL character (%00), which PostgreSQL can not keep. Expected text without one'
        : check?.(req);
    next(fault && new InputError(fault));
  };
}

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
