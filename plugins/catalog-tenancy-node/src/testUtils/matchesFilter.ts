import { InputError } from '@backstage/errors';
import type {
  FilterPredicate,
  FilterPredicateValue,
} from '@backstage/filter-predicates';
import type { SearchTerms } from './searchTerms';

/** Whether an entity with these terms matches, as in the stock catalog. */
export function matchesFilter(
  terms: SearchTerms,
  filter: FilterPredicate,
): boolean {
  if (typeof filter !== 'object') {
    throw unknownFilter(filter);
  }
  if ('$all' in filter) {
    return (filter.$all as FilterPredicate[]).every(each =>
      matchesFilter(terms, each),
    );
  }
  if ('$any' in filter) {
    return (filter.$any as FilterPredicate[]).some(each =>
      matchesFilter(terms, each),
    );
  }
  if ('$not' in filter) {
    return !matchesFilter(terms, filter.$not as FilterPredicate);
  }
  return Object.entries(filter).every(([key, value]) =>
    matchesValue(terms, key.toLowerCase(), value),
  );
}

function matchesValue(
  terms: SearchTerms,
  key: string,
  value: FilterPredicateValue,
): boolean {
  const values = terms.get(key);
  if (typeof value !== 'object') {
    return values?.has(String(value).toLowerCase()) ?? false;
  }
  if ('$exists' in value) {
    return (values !== undefined) === value.$exists;
  }
  if ('$in' in value) {
    return (value.$in as unknown[]).some(each =>
      values?.has(String(each).toLowerCase()),
    );
  }
  if ('$hasPrefix' in value) {
    const prefix = String(value.$hasPrefix).toLowerCase();
    return [...(values?.keys() ?? [])].some(each => each?.startsWith(prefix));
  }
  if ('$contains' in value) {
    return contains(terms, key, value.$contains as FilterPredicate);
  }
  throw unknownFilter(value);
}

function contains(
  terms: SearchTerms,
  key: string,
  item: FilterPredicate,
): boolean {
  if (typeof item !== 'object') {
    return matchesValue(terms, key, item);
  }
  const { type, targetRef, ...rest } = item as Record<string, unknown>;
  if (
    key !== 'relations' ||
    typeof type !== 'string' ||
    Object.keys(rest).length > 0
  ) {
    throw unknownFilter(item);
  }
  return matchesValue(
    terms,
    `relations.${type.toLowerCase()}`,
    (targetRef ?? { $exists: true }) as FilterPredicateValue,
  );
}

function unknownFilter(filter: unknown): Error {
  return new InputError(
    `The filter ${JSON.stringify(
      filter,
    )} has no meaning, expected conditions ` +
      'on keys, or $all, $any or $not of them',
  );
}
