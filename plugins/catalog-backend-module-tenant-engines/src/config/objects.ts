import type { JsonObject, JsonValue } from '@backstage/types';

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An empty one in place of any other value. */
export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** A value and all values in it, each before those in it, with the steps to each. */
export function* valuesIn(
  value: JsonValue | undefined,
  path: PropertyKey[],
): Generator<[path: PropertyKey[], value: JsonValue | undefined]> {
  yield [path, value];
  if (typeof value === 'object' && value !== null) {
    const isList = Array.isArray(value);
    for (const [key, item] of Object.entries(value)) {
      yield* valuesIn(item, [...path, isList ? Number(key) : key]);
    }
  }
}

/** The name of the property that has the value at a path, or that has the list with it. */
export function nameAt(path: readonly PropertyKey[]): string {
  return String(path.findLast(step => typeof step === 'string'));
}
