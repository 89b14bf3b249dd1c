import type { Response } from 'express';
import { createHash } from 'node:crypto';

/** Sends one JSON text as the whole answer. */
export function sendJson(res: Response, json: string): void {
  res.setHeader('Content-Type', 'application/json; charset=utf-8');
  res.end(json);
}

/**
 * Gives an answer an entity tag (RFC 9110), and sends it without its body, with status
 * 304, to a client that has it already.
 *
 * @param texts - what the answer consists of
 * @returns whether the answer is sent
 */
export function sendTag(res: Response, texts: string[]): boolean {
  const hash = createHash('sha1');
  for (const text of texts) {
    // No JSON text has a line break outside of an escape.
    hash.update(text).update('\n');
  }
  res.setHeader('ETag', `W/"${hash.digest('base64url')}"`);
  if (!res.req.fresh) {
    return false;
  }
  res.status(304).end();
  return true;
}
