/**
 * Whether two JSON values are equal. The order of members does not count, and one that is
 * `undefined` counts as missing.
 *
 * @public
 */
export function isEqualJson(one: unknown, other: unknown): boolean {
  if (one === other) {
    return true;
  }
  if (Array.isArray(one) && Array.isArray(other)) {
    return (
      one.length === other.length &&
      one.every((entry, index) => isEqualJson(entry, other[index]))
    );
  }
  if (!isObject(one) || !isObject(other)) {
    return false;
  }
  const members = membersOf(one);
  return (
    members.length === membersOf(other).length &&
    members.every(
      key => Object.hasOwn(other, key) && isEqualJson(one[key], other[key]),
    )
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function membersOf(value: Record<string, unknown>): string[] {
  return Object.keys(value).filter(key => value[key] !== undefined);
}
