import type {
  FilterPredicate,
  FilterPredicateExpression,
  FilterPredicateValue,
} from '@backstage/filter-predicates';
import type { EntitiesSearchFilter } from '@backstage/plugin-catalog-node';

/**
 * A predicate that matches entities with one of the values at a key.
 *
 * @param key - a key of an entity, not beginning with `$`, which marks operators
 * @param values - an empty list matches no entity; if undefined, all entities with the key
 * match
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

/** Combines predicates with AND; undefined if there are none. */
export function allOf(
  ...predicates: Array<FilterPredicate | undefined>
): FilterPredicate | undefined {
  const given = predicates.filter(predicate => predicate !== undefined);
  return given.length > 1 ? { $all: given } : given[0];
}

/** The filter that the catalog's permission rules create from a policy's conditions. */
export type SearchCriteria =
  | EntitiesSearchFilter
  | { allOf: SearchCriteria[] }
  | { anyOf: SearchCriteria[] }
  | { not: SearchCriteria };

/** Converts such a filter to a predicate. */
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
