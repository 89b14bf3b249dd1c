import { NotFoundError } from '@backstage/errors';
import type { Request } from 'express';

/**
 * What a store has of the mockup of a request.
 *
 * @throws NotFoundError where it has none
 */
export function foundMockup<T>(found: T, { params }: Request) {
  return found || missing(`No mockup with id '${params.id}'`);
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
