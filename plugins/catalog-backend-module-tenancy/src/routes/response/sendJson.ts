import type { Response } from 'express';

/** Sends one JSON text as the whole answer. */
export function sendJson(res: Response, json: string): void {
  res.setHeader('Content-Type', 'application/json; charset=utf-8');
  res.end(json);
}
