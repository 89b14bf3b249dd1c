import type { SearchTerms } from './searchTerms';

/** Of several values, the one that comes first in the order. */
export function firstOf(
  terms: SearchTerms,
  field: string,
  direction: 'asc' | 'desc',
): string | undefined {
  const values = [...(terms.get(field.toLowerCase())?.keys() ?? [])]
    .filter(value => value !== null)
    .sort((a, b) => (a < b ? -1 : 1));
  return values.at(direction === 'asc' ? 0 : -1);
}

/** What lacks a value comes last, whatever the direction. */
export function compareLacking(
  a: string | null | undefined,
  b: string | null | undefined,
  sign: number,
): number {
  if (a === b) {
    return 0;
  }
  if (typeof a !== 'string') {
    return 1;
  }
  if (typeof b !== 'string') {
    return -1;
  }
  return a < b ? -sign : sign;
}
