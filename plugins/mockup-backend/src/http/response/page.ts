import type { Page } from 'backstage-plugin-mockup-common';
import type { Request, Response } from 'express';

/**
 * Sends one page of a list as a bare array, with the total number in `X-Total-Count` and the
 * URL of the next page, if any, in `Link` (RFC 8288).
 */
export function sendPage<TItem>(
  req: Request,
  res: Response,
  page: Page<TItem>,
  { limit }: { limit: number },
): void {
  res.set('X-Total-Count', String(page.totalItems));
  if (page.nextCursor !== undefined) {
    res.links({ next: pageUrl(req, limit, page.nextCursor) });
  }
  res.json(page.items);
}

function pageUrl(req: Request, limit: number, cursor: string): string {
  const [path, ...search] = req.originalUrl.split('?');
  const query = new URLSearchParams(search.join('?'));
  query.set('limit', String(limit));
  query.delete('offset');
  query.set('cursor', cursor);
  return `${path}?${query}`;
}
