const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * Whether a string can be an id. PostgreSQL answers a comparison of a UUID with
 * anything else by an error, where all that a caller needs to know is that
 * there is no such row.
 */
export function isUuid(id: string): boolean {
  return UUID.test(id);
}
