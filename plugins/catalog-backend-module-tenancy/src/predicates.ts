import type { FilterPredicate } from '@backstage/filter-predicates';
import type { EntitiesSearchFilter } from '@backstage/plugin-catalog-node';
import { hasValue } from 'backstage-plugin-catalog-tenancy-node';

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
