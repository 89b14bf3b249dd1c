import { InputError } from '@backstage/errors';
import { type Condition, FALSE, negate, term } from './Condition';
import { parseRelationTarget } from './parseRelationTarget';
import { comparable, isStorable, storedKeys } from './values';

type Primitive = string | number | boolean;

/** The condition on one key, given in any case. */
export function fieldCondition(anyCaseKey: string, value: unknown): Condition {
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
export function isObject(value: unknown): value is Record<string, unknown> {
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
