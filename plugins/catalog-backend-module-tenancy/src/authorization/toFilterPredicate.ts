import type { FilterPredicate } from '@backstage/filter-predicates';
import type { EntitiesSearchFilter } from '@backstage/plugin-catalog-node';
import { hasValue } from '../predicates';

/** What the rules of the catalog make of the conditions of a policy. */
export type SearchCriteria =
  | EntitiesSearchFilter
  | { allOf: SearchCriteria[] }
  | { anyOf: SearchCriteria[] }
  | { not: SearchCriteria };

/** The same as a filter. */
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
