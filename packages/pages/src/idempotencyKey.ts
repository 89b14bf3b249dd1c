/** A key for all attempts to create one thing. Not `randomUUID`, which pages without TLS lack. */
export function newIdempotencyKey(): string {
  return `${Date.now()}-${Math.random()}`;
}
