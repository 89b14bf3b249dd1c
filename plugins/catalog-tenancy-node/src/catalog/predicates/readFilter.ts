import { InputError } from '@backstage/errors';
import type { FilterPredicate } from '@backstage/filter-predicates';
import { type Condition, group, negate, TRUE } from './Condition';
import { fieldCondition, isObject } from './fieldCondition';

// PostgreSQL looks into an index for each condition, plans all of them together, and
// refuses to go deeper than its stack.
const MAX_DEPTH = 100;
const MAX_CONDITIONS = 200;

class FilterReader {
  #conditions = 0;

  read(filter: unknown, depth: number): Condition {
    if (depth > MAX_DEPTH) {
      throw new InputError(
        `Invalid filter predicate: it is nested deeper than ${MAX_DEPTH} levels`,
      );
    }
    if (!isObject(filter)) {
      const actual = JSON.stringify(filter);
      throw new InputError(
        `Invalid filter predicate: top-level primitive values are not supported. Wrap the value in a field expression, e.g. { "kind": ${actual} }`,
      );
    }
    if ('$not' in filter) {
      return negate(this.read(filter.$not, depth + 1));
    }
    if ('$all' in filter) {
      return group('all', this.#readList('$all', filter.$all, depth));
    }
    if ('$any' in filter) {
      return group('any', this.#readList('$any', filter.$any, depth));
    }
    return group(
      'all',
      Object.entries(filter).map(([key, value]) => this.#field(key, value)),
    );
  }

  #readList(operator: string, list: unknown, depth: number): Condition[] {
    if (!Array.isArray(list)) {
      throw new InputError(
        `Invalid filter predicate: expected a list of predicates in ${operator}, but got ${JSON.stringify(
          list,
        )}`,
      );
    }
    return list.map(each => this.read(each, depth + 1));
  }

  #field(key: string, value: unknown): Condition {
    this.#conditions += 1;
    if (this.#conditions > MAX_CONDITIONS) {
      throw new InputError(
        `Invalid filter predicate: it has more than ${MAX_CONDITIONS} conditions`,
      );
    }
    return fieldCondition(key, value);
  }
}

/**
 * What a filter asks for; everything without one.
 *
 * A filter means what it means to the stock catalog, and what has no meaning is
 * refused in the same words.
 *
 * @throws `InputError` for a filter that has no meaning, or is too large
 */
export function readFilter(filter: FilterPredicate | undefined): Condition {
  return filter === undefined ? TRUE : new FilterReader().read(filter, 1);
}
