import type { Request, Response } from 'express';

/** Lets a frontend of another origin read these headers (CORS). */
export function exposeHeaders(_req: Request, res: Response, next: () => void) {
  res.append(
    'Access-Control-Expose-Headers',
    'ETag, Link, Location, X-Total-Count',
  );
  next();
}

/** Names the state of the mockup that a response shows or has made. */
export function setETag(res: Response, revision: string): void {
  res.set('ETag', `"${revision}"`);
}

/** Sets `Location` to the created resource. */
export function setLocation(req: Request, res: Response, id: string): void {
  res.location(`${collectionPath(req)}/${id}`);
}

function collectionPath(req: Request): string {
  return `${req.baseUrl}${req.path}`.replace(/\/$/, '');
}
