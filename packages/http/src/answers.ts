import type { Request, Response } from 'express';
import { addressOf } from './query';

/** Lets a frontend of another origin read these headers (CORS). */
export function exposeHeaders(_req: Request, res: Response, next: () => void) {
  res.append(
    'Access-Control-Expose-Headers',
    'ETag, Link, Location, Retry-After, X-Total-Count',
  );
  next();
}

/**
 * Sets `Location` to the created resource.
 *
 * @param levels - the number of segments of the request's path below the resource's collection
 */
export function setLocation(
  req: Request,
  res: Response,
  name: string,
  levels = 0,
): void {
  const path = `${req.baseUrl}${req.path}`.replace(/\/$/, '').split('/');
  res.location([...path.slice(0, path.length - levels), name].join('/'));
}

/**
 * Sends one page of a list as a bare array, with the total number in `X-Total-Count` and the
 * URL of the next page, if any, in `Link` (RFC 8288).
 *
 * @param next - the parameters of the next page; it has none of those that are undefined
 */
export function sendPage(
  req: Request,
  res: Response,
  page: { items: unknown[]; totalItems: number },
  next?: Record<string, string | number | undefined>,
): void {
  res.set('X-Total-Count', String(page.totalItems));
  if (next) {
    const { path, query } = addressOf(req);
    for (const [name, value] of Object.entries(next)) {
      if (value === undefined) {
        query.delete(name);
      } else {
        query.set(name, String(value));
      }
    }
    res.links({ next: `${path}?${query}` });
  }
  res.json(page.items);
}
