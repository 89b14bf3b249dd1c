import { InputError } from '@backstage/errors';

/** What `$contains` asks of relations. */
export interface RelationTarget {
  type: string;
  /** Any of these; whatever there is, without it. */
  targetRefs?: string[];
}

/**
 * Reads the object form of `$contains` on `relations`, the keys of which may be in
 * any case.
 *
 * @throws `InputError` for anything but `type` and `targetRef`
 */
export function parseRelationTarget(
  target: Record<string, unknown>,
): RelationTarget {
  let type: string | undefined;
  let targetRefs: string[] | undefined;
  for (const [rawKey, value] of Object.entries(target)) {
    switch (rawKey.toLowerCase()) {
      case 'type':
        refuseDuplicate(rawKey, type);
        type = parseType(value);
        break;
      case 'targetref':
        refuseDuplicate(rawKey, targetRefs);
        targetRefs = parseStringOrIn(value);
        break;
      default:
        throw new InputError(
          `Unsupported key "${rawKey}" in $contains for "relations". Only "type" and "targetRef" are supported`,
        );
    }
  }
  // An empty type is none either.
  if (!type) {
    throw missingType();
  }
  return { type, targetRefs };
}

function refuseDuplicate(rawKey: string, before: unknown): void {
  if (before !== undefined) {
    throw new InputError(
      `Duplicate key "${rawKey}" in $contains for "relations"`,
    );
  }
}

function parseType(value: unknown): string {
  if (typeof value !== 'string') {
    throw missingType();
  }
  return value;
}

function missingType(): Error {
  return new InputError(
    `The $contains operator for "relations" requires a "type" string property`,
  );
}

function parseStringOrIn(value: unknown): string[] {
  if (typeof value === 'string') {
    return [value];
  }
  if (isStringsIn(value)) {
    if (value.$in.length === 0) {
      throw new InputError(
        `Empty "$in" array for $contains on "relations" is not allowed`,
      );
    }
    return value.$in;
  }
  const actual = JSON.stringify(value);
  throw new InputError(
    `Unsupported value in $contains for "relations": expected a string or { "$in": [strings] }, but got ${actual}`,
  );
}

function isStringsIn(value: unknown): value is { $in: string[] } {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.keys(value).length === 1 &&
    '$in' in value &&
    Array.isArray(value.$in) &&
    value.$in.every(each => typeof each === 'string')
  );
}
