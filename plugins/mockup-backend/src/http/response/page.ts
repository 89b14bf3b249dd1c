import type { Page } from 'backstage-plugin-mockup-common';
import type { Request, Response } from 'express';

/**
 * Sends one page of a list as a bare array. The number of all entries goes into
 * `X-Total-Count`, and where there is another page, its address into `Link`
 * (RFC 8288).
 */
export function sendPage<TItem>(
  req: Request,
  res: Response,
  page: Page<TItem>,
  { limit, offset }: { limit: number; offset: number },
): void {
  res.set('X-Total-Count', String(page.totalItems));
  // A page may end early, and past the last one there is nothing.
  const nextOffset = offset + page.items.length;
  if (page.items.length > 0 && nextOffset < page.totalItems) {
    res.links({ next: pageUrl(req, limit, nextOffset) });
  }
  res.json(page.items);
}

function pageUrl(req: Request, limit: number, offset: number): string {
  const [path, search] = req.originalUrl.split('?', 2);
  const query = new URLSearchParams(search);
  query.set('limit', String(limit));
  query.set('offset', String(offset));
  return `${path}?${query}`;
}
