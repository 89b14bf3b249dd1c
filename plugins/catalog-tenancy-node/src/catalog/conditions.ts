import { InputError } from '@backstage/errors';
import type { FilterPredicate } from '@backstage/filter-predicates';

/** A test of the value of a term. */
type ValueTest =
  /** Any value, also null. */
  | { type: 'any' }
  /** Any value except null. */
  | { type: 'present' }
  | { type: 'oneOf'; values: string[] }
  | { type: 'prefix'; prefix: string }
  /** A pattern of LIKE. */
  | { type: 'like'; pattern: string };

/** True if an entity has a term at one of `keys` (in lower case) whose value passes `test`. */
export interface TermCondition {
  type: 'term';
  keys: string[];
  test: ValueTest;
  /** Inverts the condition. */
  negated: boolean;
}

/** An empty `all` is true, an empty `any` is false. */
interface GroupCondition {
  type: 'all' | 'any';
  conditions: Condition[];
}

/**
 * A filter as a condition on the rows of `entity_terms`. Only terms can be negated.
 */
export type Condition = TermCondition | GroupCondition;

const TRUE: Condition = { type: 'all', conditions: [] };

/** Whether the condition holds for every entity. */
export function isAlways(condition: Condition): boolean {
  return condition.type === 'all' && condition.conditions.length === 0;
}
const FALSE: Condition = { type: 'any', conditions: [] };

export function term(keys: string[], test: ValueTest): Condition {
  const impossible =
    keys.length === 0 || (test.type === 'oneOf' && test.values.length === 0);
  return impossible ? FALSE : { type: 'term', keys, test, negated: false };
}

/** The negation, by De Morgan's laws. */
function negate(condition: Condition): Condition {
  return condition.type === 'term'
    ? { ...condition, negated: !condition.negated }
    : group(
        condition.type === 'all' ? 'any' : 'all',
        condition.conditions.map(negate),
      );
}

/**
 * Combines conditions and simplifies them: PostgreSQL plans each condition and looks it up in
 * an index.
 */
export function group(type: 'all' | 'any', conditions: Condition[]): Condition {
  const flat = conditions.flatMap(each =>
    each.type === type ? each.conditions : [each],
  );
  const decided = flat.find(
    each =>
      each.type !== type && each.type !== 'term' && !each.conditions.length,
  );
  if (decided) {
    return decided;
  }
  const merged = mergeValues(type, distinct(flat));
  return merged.length === 1 ? merged[0] : { type, conditions: merged };
}

function distinct(conditions: Condition[]): Condition[] {
  return [
    ...new Map(conditions.map(each => [JSON.stringify(each), each])).values(),
  ];
}

/** Merges conditions on the same key into one list of values. */
function mergeValues(
  type: 'all' | 'any',
  conditions: Condition[],
): Condition[] {
  const byKey = new Map<string, string[]>();
  const merged: Condition[] = [];
  for (const each of conditions) {
    const values = mergeable(type, each);
    const present = values && byKey.get(values.key);
    if (present) {
      present.push(...values.values);
    } else if (values) {
      byKey.set(values.key, [...values.values]);
      merged.push(each);
    } else {
      merged.push(each);
    }
  }
  return merged.map(each => {
    const values = mergeable(type, each);
    return values && each.type === 'term'
      ? {
          ...each,
          test: { type: 'oneOf', values: [...new Set(byKey.get(values.key))] },
        }
      : each;
  });
}

function mergeable(
  type: 'all' | 'any',
  condition: Condition,
): { key: string; values: string[] } | undefined {
  return condition.type === 'term' &&
    condition.keys.length === 1 &&
    condition.test.type === 'oneOf' &&
    // `any` of the values, or negated in `all`: none of them.
    condition.negated === (type === 'all')
    ? { key: condition.keys[0], values: condition.test.values }
    : undefined;
}

/** The stock catalog's search table stores longer values as null. */
const MAX_VALUE_LENGTH = 200;
/** The stock catalog's search table leaves out longer keys. */
const MAX_KEY_LENGTH = 200;

/**
 * The text that a filter's value is compared as; empty if no entity can have it.
 */
function comparable(value: string | number | boolean): string[] {
  const text = String(value).toLowerCase();
  return text.length <= MAX_VALUE_LENGTH && isStorable(text) ? [text] : [];
}

/** The key as `entity_terms` stores it; empty if no entity can have it. */
export function storedKeys(anyCaseKey: string): string[] {
  const key = anyCaseKey.toLowerCase();
  return key.length <= MAX_KEY_LENGTH && isStorable(key) ? [key] : [];
}

/** PostgreSQL stores neither NUL nor lone surrogates. */
export function isStorable(text: string): boolean {
  return !/[\0\p{Surrogate}]/u.test(text);
}

// PostgreSQL plans all conditions together and searches an index for each; too deep a nesting
// exceeds its stack.
const MAX_DEPTH = 100;
const MAX_CONDITIONS = 200;

class FilterReader {
  #conditions = 0;

  read(filter: unknown, depth: number): Condition {
    if (depth > MAX_DEPTH) {
      throw new InputError(
        `Invalid filter predicate: it is nested deeper than ${MAX_DEPTH} levels`,
      );
    }
    if (!isObject(filter)) {
      const actual = JSON.stringify(filter);
      throw new InputError(
        `Invalid filter predicate: top-level primitive values are not supported. Wrap the value in a field expression, e.g. { "kind": ${actual} }`,
      );
    }
    if ('$not' in filter) {
      return negate(this.read(filter.$not, depth + 1));
    }
    if ('$all' in filter) {
      return group('all', this.#readList('$all', filter.$all, depth));
    }
    if ('$any' in filter) {
      return group('any', this.#readList('$any', filter.$any, depth));
    }
    return group(
      'all',
      Object.entries(filter).map(([key, value]) => this.#field(key, value)),
    );
  }

  #readList(operator: string, list: unknown, depth: number): Condition[] {
    if (!Array.isArray(list)) {
      throw new InputError(
        `Invalid filter predicate: expected a list of predicates in ${operator}, but got ${JSON.stringify(
          list,
        )}`,
      );
    }
    return list.map(each => this.read(each, depth + 1));
  }

  #field(key: string, value: unknown): Condition {
    this.#conditions += 1;
    if (this.#conditions > MAX_CONDITIONS) {
      throw new InputError(
        `Invalid filter predicate: it has more than ${MAX_CONDITIONS} conditions`,
      );
    }
    return fieldCondition(key, value);
  }
}

/**
 * Parses a filter; without one, the condition is always true.
 *
 * Filters have the stock catalog's semantics, and invalid ones its error messages.
 *
 * @throws `InputError` for a filter that has no meaning, or is too large
 */
export function readFilter(filter: FilterPredicate | undefined): Condition {
  return filter === undefined ? TRUE : new FilterReader().read(filter, 1);
}

type Primitive = string | number | boolean;

/** The condition on one key, given in any case. */
function fieldCondition(anyCaseKey: string, value: unknown): Condition {
  const key = anyCaseKey.toLowerCase();
  if (isPrimitive(value)) {
    return isOneOf(key, [value]);
  }
  if (isObject(value)) {
    if ('$exists' in value) {
      return value.$exists ? exists(key) : negate(exists(key));
    }
    if ('$in' in value && Array.isArray(value.$in)) {
      return isOneOf(key, value.$in);
    }
    if ('$hasPrefix' in value && typeof value.$hasPrefix === 'string') {
      return hasPrefix(key, value.$hasPrefix);
    }
    if ('$contains' in value) {
      return contains(key, value.$contains);
    }
  }
  const actual = JSON.stringify(value);
  throw new InputError(
    `Invalid filter predicate value for field "${key}": expected a primitive value, $exists, $in, $hasPrefix, or $contains operator, but got ${actual}`,
  );
}

/** Whether it is an object, and neither an array nor null. */
function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isPrimitive(value: unknown): value is Primitive {
  return ['string', 'number', 'boolean'].includes(typeof value);
}

function isOneOf(key: string, values: Primitive[]): Condition {
  return term(storedKeys(key), {
    type: 'oneOf',
    values: [...new Set(values.flatMap(comparable))],
  });
}

function exists(key: string): Condition {
  return term(storedKeys(key), { type: 'any' });
}

function hasPrefix(key: string, anyCasePrefix: string): Condition {
  const prefix = anyCasePrefix.toLowerCase();
  return isStorable(prefix)
    ? term(storedKeys(key), { type: 'prefix', prefix })
    : FALSE;
}

function contains(key: string, target: unknown): Condition {
  if (isPrimitive(target)) {
    return isOneOf(key, [target]);
  }
  if (!isObject(target)) {
    const actual = JSON.stringify(target);
    throw new InputError(
      `Unsupported $contains target for field "${key}": ${actual}`,
    );
  }
  if (key !== 'relations') {
    throw new InputError(
      `Object form of $contains is not supported for field "${key}"`,
    );
  }
  const { type, targetRefs } = parseRelationTarget(target);
  const relationKey = `relations.${type.toLowerCase()}`;
  return targetRefs ? isOneOf(relationKey, targetRefs) : exists(relationKey);
}

/** The parsed `$contains` of `relations`. */
interface RelationTarget {
  type: string;
  /** Any of these; any target if omitted. */
  targetRefs?: string[];
}

/**
 * Parses the object form of `$contains` on `relations`; its keys may be in any case.
 *
 * @throws `InputError` for anything but `type` and `targetRef`
 */
function parseRelationTarget(target: Record<string, unknown>): RelationTarget {
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
  // An empty type counts as missing.
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
