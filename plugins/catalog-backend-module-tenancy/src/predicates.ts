import type {
  FilterPredicate,
  FilterPredicateExpression,
  FilterPredicateValue,
} from '@backstage/filter-predicates';
import type { EntitiesSearchFilter } from '@backstage/plugin-catalog-node';

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

/** What the rules of the catalog make of the conditions of a policy. */
export type SearchCriteria =
  | EntitiesSearchFilter
  | { allOf: SearchCriteria[] }
  | { anyOf: SearchCriteria[] }
  | { not: SearchCriteria };

/** The same as a predicate. */
export function toFilterPredicate(criteria: SearchCriteria): FilterPredicate {
  if ('allOf' in criteria) {
    return { $all: criteria.allOf.map(toFilterPredicate) };
  }
  if ('anyOf' in criteria) {
    return { $any: criteria.anyOf.map(toFilterPredicate) };
  }
  if ('not' in criteria) {
    return { $not: toFilterPredicate(criteria.not) };
  }
  return hasValue(criteria.key, criteria.values);
}
