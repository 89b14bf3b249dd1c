import { createHash } from 'node:crypto';

/**
 * The id of what a user creates, the same for each attempt with the same idempotency key; null
 * without a key, for a random id. Another user, tenant or content gives another id, so that nobody
 * can get at what somebody else created.
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
