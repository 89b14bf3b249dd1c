import type { FilterPredicate } from '@backstage/filter-predicates';

/** What the texts of a share ask for, as `/entities` understands them. */
export function toPredicate(filter: readonly string[]): FilterPredicate {
  return { $any: filter.map(text => ({ $all: conditionsOf(text) })) };
}

/** Of one key, one of several values is enough. */
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
