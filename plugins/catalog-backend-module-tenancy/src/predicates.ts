import type {
  FilterPredicate,
  FilterPredicateExpression,
  FilterPredicateValue,
} from '@backstage/filter-predicates';

/**
 * A predicate for what has one of these values at a key.
 *
 * @param key - of an entity: what begins with `$` would be an operator
 * @param values - an empty list matches nothing; without it, every entity that has the
 * key matches
 */
export function hasValue(
  key: string,
  values?: string[],
): FilterPredicateExpression {
  if (!values) {
    return expression(key, { $exists: true });
  }
  return expression(key, values.length === 1 ? values[0] : { $in: values });
}

function expression(
  key: string,
  value: FilterPredicateValue,
): FilterPredicateExpression {
  return { [key]: value } as FilterPredicateExpression;
}

/** A predicate for what matches all of these; nothing if there are none. */
export function allOf(
  ...predicates: Array<FilterPredicate | undefined>
): FilterPredicate | undefined {
  const given = predicates.filter(predicate => predicate !== undefined);
  return given.length > 1 ? { $all: given } : given[0];
}
