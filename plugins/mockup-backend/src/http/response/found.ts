import { NotFoundError } from '@backstage/errors';
import type { Mockup } from 'backstage-plugin-mockup-common';
import type { Request, Response } from 'express';

/**
 * What a store has of the mockup of a request.
 *
 * @throws NotFoundError where it has none
 */
export function foundMockup<T>(found: T, { params }: Request) {
  return found || missing(`No mockup with id '${params.id}'`);
}

/**
 * Sends the mockup of a request, with its entity tag.
 *
 * @throws NotFoundError where there is none
 */
export function sendMockup(
  req: Request,
  res: Response,
  found: { mockup: Mockup; revision: string } | undefined,
): void {
  const { mockup, revision } = foundMockup(found, req);
  setETag(res, revision);
  res.json(mockup);
}

/**
 * What a store has of the version of a request.
 *
 * @throws NotFoundError where it has none
 */
export function foundVersion<T>(found: T, { params }: Request) {
  return (
    found || missing(`No version '${params.vid}' of a mockup '${params.id}'`)
  );
}

/** @throws NotFoundError with this message */
export function missing(message: string): never {
  throw new NotFoundError(message);
}

/** Sets the ETag to the revision of the mockup. */
export function setETag(res: Response, revision: string): void {
  res.set('ETag', `"${revision}"`);
}
