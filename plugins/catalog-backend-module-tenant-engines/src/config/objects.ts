import type { JsonObject } from '@backstage/types';

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An empty one in place of any other value. */
export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}
