import type { Response } from 'express';

/** Sets the ETag to the revision of the mockup. */
export function setETag(res: Response, revision: string): void {
  res.set('ETag', `"${revision}"`);
}
