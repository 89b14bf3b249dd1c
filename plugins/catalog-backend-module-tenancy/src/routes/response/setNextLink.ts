import type { Request, Response } from 'express';

/**
 * Points at the next page (RFC 8288), by the same request with `after` in place of
 * `offset`.
 */
export function setNextLink(req: Request, res: Response, after: string): void {
  const url = new URL(`http://ignored${req.url}`);
  url.searchParams.delete('offset');
  url.searchParams.set('after', after);
  res.setHeader('Link', `<${url.pathname}${url.search}>; rel="next"`);
}
