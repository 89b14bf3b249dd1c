import type { Request, Response } from 'express';

/** Lets a frontend of another origin read these headers (CORS). */
export function exposeHeaders(_req: Request, res: Response, next: () => void) {
  res.append(
    'Access-Control-Expose-Headers',
    'ETag, Link, Location, X-Total-Count',
  );
  next();
}

/** Sets the ETag to the revision of the mockup. */
export function setETag(res: Response, revision: string): void {
  res.set('ETag', `"${revision}"`);
}

/**
 * Sets `Location` to the created resource.
 *
 * @param levels - the number of segments of the request's path below the resource's collection
 */
export function setLocation(
  req: Request,
  res: Response,
  id: string,
  levels = 0,
): void {
  const path = `${req.baseUrl}${req.path}`.replace(/\/$/, '').split('/');
  res.location([...path.slice(0, path.length - levels), id].join('/'));
}
