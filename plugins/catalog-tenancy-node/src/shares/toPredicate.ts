import type { FilterPredicate } from '@backstage/filter-predicates';

/**
 * Parses the filter of a share, whose texts have the syntax of the parameter `filter` of
 * `/entities`.
 */
export function toPredicate(filter: readonly string[]): FilterPredicate {
  return { $any: filter.map(text => ({ $all: conditionsOf(text) })) };
}

/** Conditions on the same key are ORed. */
function conditionsOf(text: string): FilterPredicate[] {
  const values = new Map<string, string[] | undefined>();
  for (const condition of text.split(',')) {
    const [key, ...rest] = condition.split('=').map(part => part.trim());
    const known = values.get(key) ?? [];
    values.set(
      key,
      rest.length === 0 || (values.has(key) && !values.get(key))
        ? undefined
        : [...known, rest.join('=')],
    );
  }
  return [...values].map(
    ([key, some]) =>
      ({ [key]: some ? { $in: some } : { $exists: true } } as FilterPredicate),
  );
}
