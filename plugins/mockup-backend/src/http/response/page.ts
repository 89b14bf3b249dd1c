import { sendPage as send } from '@internal/http';
import type { Page } from 'backstage-plugin-mockup-common';
import type { Request, Response } from 'express';

/** Sends one page of a list; a cursor leads to the next one. */
export function sendPage<TItem>(
  req: Request,
  res: Response,
  page: Page<TItem>,
  { limit }: { limit: number },
): void {
  const cursor = page.nextCursor;
  send(
    req,
    res,
    page,
    cursor ? { limit, offset: undefined, cursor } : undefined,
  );
}
