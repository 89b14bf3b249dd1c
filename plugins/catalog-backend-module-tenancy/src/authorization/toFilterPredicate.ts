import type { FilterPredicate } from '@backstage/filter-predicates';
import type { EntitiesSearchFilter } from '@backstage/plugin-catalog-node';
import type { PermissionCriteria } from '@backstage/plugin-permission-common';
import {
  isAndCriteria,
  isNotCriteria,
  isOrCriteria,
} from '@backstage/plugin-permission-node';
import { hasValue } from '../predicates';

/** What the rules of the catalog make of the conditions of a policy, as a filter. */
export function toFilterPredicate(
  criteria: PermissionCriteria<EntitiesSearchFilter>,
): FilterPredicate {
  if (isAndCriteria(criteria)) {
    return { $all: criteria.allOf.map(toFilterPredicate) };
  }
  if (isOrCriteria(criteria)) {
    return { $any: criteria.anyOf.map(toFilterPredicate) };
  }
  if (isNotCriteria(criteria)) {
    return { $not: toFilterPredicate(criteria.not) };
  }
  return hasValue(criteria.key, criteria.values);
}
