import type { Request, Response } from 'express';

/** Lets a frontend of another origin read these headers (CORS). */
export function exposeHeaders(_req: Request, res: Response, next: () => void) {
  res.append(
    'Access-Control-Expose-Headers',
    'ETag, Link, Location, Retry-After, X-Total-Count',
  );
  next();
}

/** Sets `Location` to the created resource. */
export function setLocation(req: Request, res: Response, name: string): void {
  const collection = `${req.baseUrl}${req.path}`.replace(/\/$/, '');
  res.location(`${collection}/${name}`);
}

/**
 * Sends one page of a list as a bare array, with the total number in `X-Total-Count` and the
 * URL of the next page, if any, in `Link` (RFC 8288).
 */
export function sendPage(
  req: Request,
  res: Response,
  page: { items: unknown[]; totalItems: number },
  { limit, offset }: { limit: number; offset: number },
): void {
  res.set('X-Total-Count', String(page.totalItems));
  const next = offset + page.items.length;
  if (page.items.length > 0 && next < page.totalItems) {
    const [path, search] = req.originalUrl.split('?', 2);
    const query = new URLSearchParams(search);
    query.set('limit', String(limit));
    query.set('offset', String(next));
    res.links({ next: `${path}?${query}` });
  }
  res.json(page.items);
}
