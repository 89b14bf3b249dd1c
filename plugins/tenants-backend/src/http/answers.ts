import { sendPage as send } from '@internal/http';
import type { Request, Response } from 'express';

/** Sends one page of a list; an offset leads to the next one. */
export function sendPage(
  req: Request,
  res: Response,
  page: { items: unknown[]; totalItems: number },
  { limit, offset }: { limit: number; offset: number },
): void {
  const next = offset + page.items.length;
  const isMore = page.items.length > 0 && next < page.totalItems;
  send(req, res, page, isMore ? { limit, offset: next } : undefined);
}
