const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * Whether a string can be an id. PostgreSQL raises an error for a comparison of a
 * UUID with anything else; the caller only needs to know that no such row exists.
 */
export function isUuid(id: string): boolean {
  return UUID.test(id);
}
