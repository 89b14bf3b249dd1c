const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * Whether a string can be an id. PostgreSQL would raise an error for others; to callers, such a
 * row does not exist.
 */
export function isUuid(id: string): boolean {
  return UUID.test(id);
}
