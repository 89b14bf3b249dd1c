import { InputError } from '@backstage/errors';
import type { Request } from 'express';

/**
 * Reads the `Idempotency-Key` header, by which a repeated creation gets what the first one created.
 *
 * @throws InputError if the header is empty or too long
 */
export function parseIdempotencyKey(req: Request): { idempotencyKey?: string } {
  const idempotencyKey = req.get('Idempotency-Key');
  if (idempotencyKey === undefined) {
    return {};
  }
  if (idempotencyKey.length < 1 || idempotencyKey.length > 255) {
    throw new InputError(
      `The Idempotency-Key header must have 1 to 255 characters, got ${idempotencyKey.length}`,
    );
  }
  return { idempotencyKey };
}
