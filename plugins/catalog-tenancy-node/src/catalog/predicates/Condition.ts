/** What the value of a term has to be. */
export type ValueTest =
  /** Anything, and null. */
  | { type: 'any' }
  /** Anything but null. */
  | { type: 'present' }
  | { type: 'oneOf'; values: string[] }
  | { type: 'prefix'; prefix: string }
  /** As LIKE understands it. */
  | { type: 'like'; pattern: string };

/** Whether an entity has a term at one of some keys, in lower case, that passes. */
export interface TermCondition {
  type: 'term';
  keys: string[];
  test: ValueTest;
  /** Whether the entity must have none instead. */
  negated: boolean;
}

/** All of none is true, any of none is false. */
export interface GroupCondition {
  type: 'all' | 'any';
  conditions: Condition[];
}

/**
 * What entities are asked for, in terms of what they are found by. Nothing but terms
 * is negated.
 */
export type Condition = TermCondition | GroupCondition;

export const TRUE: Condition = { type: 'all', conditions: [] };
export const FALSE: Condition = { type: 'any', conditions: [] };

export function term(keys: string[], test: ValueTest): Condition {
  const impossible =
    keys.length === 0 || (test.type === 'oneOf' && test.values.length === 0);
  return impossible ? FALSE : { type: 'term', keys, test, negated: false };
}

/** What holds where a condition does not. */
export function negate(condition: Condition): Condition {
  return condition.type === 'term'
    ? { ...condition, negated: !condition.negated }
    : group(
        condition.type === 'all' ? 'any' : 'all',
        condition.conditions.map(negate),
      );
}

/**
 * All or any of some conditions, as simple as it can be said: every condition costs
 * PostgreSQL time to plan and to look into an index.
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

/** Conditions on the same key are one, where any of their values will do. */
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
    // Any of the values, or none of them.
    condition.negated === (type === 'all')
    ? { key: condition.keys[0], values: condition.test.values }
    : undefined;
}
