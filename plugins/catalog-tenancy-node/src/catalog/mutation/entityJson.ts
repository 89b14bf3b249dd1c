import { createHash } from 'node:crypto';
import type { JsonObject, JsonValue } from '@backstage/types';

/** Deeper than any entity that a person has written. */
const MAX_DEPTH = 200;
/** PostgreSQL's own limit is 256 MiB, and a chunk of a mutation is held in memory. */
const MAX_BYTES = 16 * 1024 * 1024;

// An escape of a NUL, or of half a character: JSON.stringify writes whole ones as
// they are. An even number of backslashes before it makes it plain text.
const UNSTORABLE = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f][0-9a-f]{2})/;

/**
 * A value as JSON has it.
 *
 * @throws Error that says what is wrong, for what JSON or PostgreSQL cannot hold
 */
export function toJson(value: unknown): JsonValue | undefined {
  const text = stringify(value);
  if (text === undefined) {
    return undefined;
  }
  if (Buffer.byteLength(text) > MAX_BYTES) {
    throw new Error(`it is larger than ${MAX_BYTES} bytes`);
  }
  if (UNSTORABLE.test(text)) {
    throw new Error('it holds a NUL character, or half of a surrogate pair');
  }
  const json: JsonValue = JSON.parse(text);
  refuseDeep(json, 1);
  return json;
}

/**
 * Tells whether an entity has changed, whatever the order of its keys. No other
 * writer of the table makes such hashes: rows of others are written once anew.
 */
export function stableHash(entity: JsonObject): string {
  return createHash('sha256').update(canonical(entity)).digest('hex');
}

function stringify(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch (error) {
    throw new Error(
      error instanceof RangeError
        ? `it is nested deeper than ${MAX_DEPTH} levels`
        : 'it is not JSON',
    );
  }
}

function refuseDeep(value: JsonValue | undefined, depth: number): void {
  if (typeof value !== 'object' || value === null) {
    return;
  }
  if (depth > MAX_DEPTH) {
    throw new Error(`it is nested deeper than ${MAX_DEPTH} levels`);
  }
  for (const child of Object.values(value)) {
    refuseDeep(child, depth + 1);
  }
}

function canonical(value: JsonValue | undefined): string {
  if (Array.isArray(value)) {
    return `[${value.map(canonical).join()}]`;
  }
  if (typeof value === 'object' && value !== null) {
    const members = Object.keys(value)
      .sort()
      .map(key => `${JSON.stringify(key)}:${canonical(value[key])}`);
    return `{${members.join()}}`;
  }
  return JSON.stringify(value);
}
