import type { JsonPatchOperation } from '../schemas/difference';

/**
 * Keys that name a member in JSON, and something else in JavaScript. Libraries that apply
 * patches, rfc6902 among them, do not follow a path through one.
 */
const KEYS_WITHOUT_PATH = new Set(['__proto__', 'constructor', 'prototype']);

/** What an operation has beside its path and value, in characters. */
const OPERATION_SIZE = 30;

interface Patch {
  operations: JsonPatchOperation[];
  /** Its characters as JSON, roughly. */
  size: number;
}

/**
 * The operations that turn one JSON value into another: one for each value that differs,
 * unless it is shorter to replace what holds them. A patch is therefore never much larger
 * than the value, however deep or long the paths are.
 *
 * A member that is `undefined` counts as missing, as it does in JSON.
 *
 * @param path - where the values are, as a JSON Pointer; a root (`''`) is never replaced
 */
export function createJsonPatch(
  before: unknown,
  after: unknown,
  path: string,
): JsonPatchOperation[] {
  const sizes = new Map<object, number>();

  const compare = (from: unknown, to: unknown, at: string): Patch => {
    if (from === to) {
      return { operations: [], size: 0 };
    }
    const patch: Patch = { operations: [], size: 0 };
    const add = (operation: JsonPatchOperation) => {
      patch.operations.push(operation);
      patch.size += operationSize(operation, sizes);
    };
    const include = (part: Patch) => {
      // Not by spreading: there may be more operations than arguments of a call.
      part.operations.forEach(operation => patch.operations.push(operation));
      patch.size += part.size;
    };
    const whole: JsonPatchOperation = { op: 'replace', path: at, value: to };

    if (Array.isArray(from) && Array.isArray(to)) {
      compareLists(from, to, at, { add, include, compare });
    } else if (isObject(from) && isObject(to)) {
      if (differsWithoutPath(from, to)) {
        add(whole);
        return patch;
      }
      compareMembers(from, to, at, { add, include, compare });
    } else {
      add(whole);
      return patch;
    }
    // Without operations there is nothing that replacing could shorten.
    if (at === '' || patch.operations.length === 0) {
      return patch;
    }
    const wholeSize = operationSize(whole, sizes);
    return wholeSize < patch.size
      ? { operations: [whole], size: wholeSize }
      : patch;
  };

  return compare(before, after, path).operations;
}

interface Comparison {
  add(operation: JsonPatchOperation): void;
  include(part: Patch): void;
  compare(from: unknown, to: unknown, at: string): Patch;
}

function compareMembers(
  from: Record<string, unknown>,
  to: Record<string, unknown>,
  at: string,
  { add, include, compare }: Comparison,
): void {
  for (const key of membersOf(from)) {
    if (!hasMember(to, key)) {
      add({ op: 'remove', path: pathTo(at, key) });
    }
  }
  for (const key of membersOf(to)) {
    if (hasMember(from, key)) {
      include(compare(from[key], to[key], pathTo(at, key)));
    } else {
      add({ op: 'add', path: pathTo(at, key), value: to[key] });
    }
  }
}

/**
 * Compares lists of the same length entry by entry. Of others it leaves out what they
 * begin and end with in common, which is most of them where somebody added or removed rows.
 */
function compareLists(
  from: unknown[],
  to: unknown[],
  at: string,
  { add, include, compare }: Comparison,
): void {
  let start = 0;
  let fromEnd = from.length;
  let toEnd = to.length;
  if (from.length !== to.length) {
    const shortest = Math.min(from.length, to.length);
    while (start < shortest && isEqualJson(from[start], to[start])) {
      start += 1;
    }
    while (
      fromEnd > start &&
      toEnd > start &&
      isEqualJson(from[fromEnd - 1], to[toEnd - 1])
    ) {
      fromEnd -= 1;
      toEnd -= 1;
    }
  }
  const bothEnd = Math.min(fromEnd, toEnd);
  for (let index = start; index < bothEnd; index += 1) {
    include(compare(from[index], to[index], pathTo(at, index)));
  }
  for (let index = bothEnd; index < toEnd; index += 1) {
    add({ op: 'add', path: pathTo(at, index), value: to[index] });
  }
  for (let index = fromEnd - 1; index >= bothEnd; index -= 1) {
    add({ op: 'remove', path: pathTo(at, index) });
  }
}

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
      key => hasMember(other, key) && isEqualJson(one[key], other[key]),
    )
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function membersOf(value: Record<string, unknown>): string[] {
  return Object.keys(value).filter(key => value[key] !== undefined);
}

function hasMember(value: Record<string, unknown>, key: string): boolean {
  return Object.hasOwn(value, key) && value[key] !== undefined;
}

function differsWithoutPath(
  one: Record<string, unknown>,
  other: Record<string, unknown>,
): boolean {
  return [...KEYS_WITHOUT_PATH].some(key =>
    hasMember(one, key)
      ? !hasMember(other, key) || !isEqualJson(one[key], other[key])
      : hasMember(other, key),
  );
}

/** Extends a JSON Pointer (RFC 6901). */
function pathTo(parent: string, key: string | number): string {
  return `${parent}/${String(key).replace(/~/g, '~0').replace(/\//g, '~1')}`;
}

function operationSize(
  operation: JsonPatchOperation,
  sizes: Map<object, number>,
): number {
  return (
    OPERATION_SIZE +
    operation.path.length +
    ('value' in operation ? sizeOf(operation.value, sizes) : 0)
  );
}

/** The characters of a value as JSON, roughly, determined once for each object. */
function sizeOf(value: unknown, sizes: Map<object, number>): number {
  if (typeof value !== 'object' || value === null) {
    return String(value).length + 2;
  }
  const known = sizes.get(value);
  if (known !== undefined) {
    return known;
  }
  const size = Object.entries(value).reduce(
    (sum, [key, child]) =>
      sum +
      sizeOf(child, sizes) +
      1 +
      (Array.isArray(value) ? 0 : key.length + 3),
    2,
  );
  sizes.set(value, size);
  return size;
}
