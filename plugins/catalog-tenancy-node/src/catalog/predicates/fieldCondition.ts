import { InputError } from '@backstage/errors';
import type { Knex } from 'knex';
import type { TenantScope } from '../../database';
import { columnKey, isAnyOf } from './entityColumns';
import { parseRelationTarget } from './parseRelationTarget';
import { searchRows } from './searchRows';
import {
  comparable,
  isStorable,
  MAX_KEY_LENGTH,
  MAX_VALUE_LENGTH,
} from './values';
import type { ValueText } from './values';

type Primitive = string | number | boolean;

/** What conditions are built with. */
export interface ConditionContext {
  scope: TenantScope;
  text: ValueText;
}

/** The condition on one key of the entity `e`, given in any case. */
export function fieldCondition(
  context: ConditionContext,
  anyCaseKey: string,
  value: unknown,
): Knex.Raw {
  const key = anyCaseKey.toLowerCase();
  if (isPrimitive(value)) {
    return isOneOf(context, key, [value]);
  }
  if (isObject(value)) {
    if ('$exists' in value) {
      return exists(context, key, Boolean(value.$exists));
    }
    if ('$in' in value && Array.isArray(value.$in)) {
      return isOneOf(context, key, value.$in);
    }
    if ('$hasPrefix' in value && typeof value.$hasPrefix === 'string') {
      return hasPrefix(context, key, value.$hasPrefix);
    }
    if ('$contains' in value) {
      return contains(context, key, value.$contains);
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

function isOneOf(
  { scope, text }: ConditionContext,
  key: string,
  values: Primitive[],
): Knex.Raw {
  const { knex } = scope;
  const wanted = [...new Set(values.flatMap(comparable))];
  if (wanted.length === 0 || !canExist(key)) {
    return knex.raw('false');
  }
  const column = columnKey(scope, text, key);
  if (column) {
    return column.isOneOf(wanted);
  }
  return anyRow({ scope, text }, key, node =>
    isAnyOf(knex, text.ofJson(node), wanted),
  );
}

function exists(
  { scope, text }: ConditionContext,
  key: string,
  wanted: boolean,
): Knex.Raw {
  const { knex } = scope;
  if (!canExist(key)) {
    return knex.raw(String(!wanted));
  }
  if (columnKey(scope, text, key)) {
    return knex.raw(String(wanted));
  }
  const found = anyRow({ scope, text }, key, () => knex.raw('true'));
  return wanted ? found : knex.raw('not ?', [found]);
}

function hasPrefix(
  { scope, text }: ConditionContext,
  key: string,
  anyCasePrefix: string,
): Knex.Raw {
  const { knex } = scope;
  const prefix = anyCasePrefix.toLowerCase();
  const possible = prefix.length <= MAX_VALUE_LENGTH && isStorable(prefix);
  if (!possible || !canExist(key)) {
    return knex.raw('false');
  }
  // Null for a value that is null or too long.
  const matches = (value: Knex.Raw) =>
    knex.raw('coalesce(starts_with(?, ?), false)', [
      text.bounded(value),
      prefix,
    ]);
  const column = columnKey(scope, text, key);
  return column
    ? matches(column.text)
    : anyRow({ scope, text }, key, node => matches(text.ofJson(node)));
}

function contains(
  context: ConditionContext,
  key: string,
  target: unknown,
): Knex.Raw {
  if (isPrimitive(target)) {
    return isOneOf(context, key, [target]);
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
  return targetRefs
    ? isOneOf(context, relationKey, targetRefs)
    : exists(context, relationKey, true);
}

/** Whether an entity may have the key at all, however long. */
function canExist(key: string): boolean {
  return key.length <= MAX_KEY_LENGTH && isStorable(key);
}

/** That the entity has a value at the key for which a condition holds. */
function anyRow(
  { scope, text }: ConditionContext,
  key: string,
  condition: (node: Knex.Raw) => Knex.Raw,
): Knex.Raw {
  const { knex } = scope;
  return knex.raw('exists (select from ? found (node) where ?)', [
    searchRows(knex, text, key),
    condition(knex.raw('found.node')),
  ]);
}
