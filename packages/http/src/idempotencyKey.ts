import { InputError } from '@backstage/errors';
import type { Request } from 'express';
import { createHash } from 'node:crypto';

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

/**
 * The id of what a user creates, the same for each attempt with the same idempotency key; null
 * without a key, for a random id.
 *
 * @param what - has the user and the tenant, so that nobody can get at what somebody else created
 */
export function idOfAttempts(
  idempotencyKey: string | undefined,
  what: readonly unknown[],
): string | null {
  if (idempotencyKey === undefined) {
    return null;
  }
  const hash = createHash('sha256')
    .update(JSON.stringify([idempotencyKey, ...what]))
    .digest();
  // RFC 9562, 5.8: version 8, for ids of one's own making.
  hash[6] = (hash[6] % 0x10) + 0x80;
  hash[8] = (hash[8] % 0x40) + 0x80;
  return hash
    .toString('hex', 0, 16)
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** Describes the header in an OpenAPI document. */
export const openApiIdempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'Of requests of a user with the same key and content, the first creates, and the others get what it created',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
};
