import { InputError } from '@backstage/errors';
import type { FilterPredicate } from '@backstage/filter-predicates';
import type { Knex } from 'knex';
import { fieldCondition, isObject } from './fieldCondition';
import type { ConditionContext } from './fieldCondition';

// PostgreSQL walks each entity once for each condition on a key, some ten microseconds,
// and refuses to go deeper than its stack.
const MAX_DEPTH = 100;
const MAX_CONDITIONS = 200;

class FilterReader {
  readonly #context: ConditionContext;
  #conditions = 0;

  constructor(context: ConditionContext) {
    this.#context = context;
  }

  read(filter: unknown, depth: number): Knex.Raw {
    const { knex } = this.#context.scope;
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
      return knex.raw('(not ?)', [this.read(filter.$not, depth + 1)]);
    }
    if ('$all' in filter) {
      return this.#join('and', this.#readList('$all', filter.$all, depth));
    }
    if ('$any' in filter) {
      return this.#join('or', this.#readList('$any', filter.$any, depth));
    }
    return this.#join(
      'and',
      Object.entries(filter).map(([key, value]) => this.#field(key, value)),
    );
  }

  #readList(operator: string, list: unknown, depth: number): Knex.Raw[] {
    if (!Array.isArray(list)) {
      throw new InputError(
        `Invalid filter predicate: expected a list of predicates in ${operator}, but got ${JSON.stringify(
          list,
        )}`,
      );
    }
    return list.map(each => this.read(each, depth + 1));
  }

  #field(key: string, value: unknown): Knex.Raw {
    this.#conditions += 1;
    if (this.#conditions > MAX_CONDITIONS) {
      throw new InputError(
        `Invalid filter predicate: it has more than ${MAX_CONDITIONS} conditions`,
      );
    }
    return fieldCondition(this.#context, key, value);
  }

  /** All of none is true, any of none is false. */
  #join(operator: 'and' | 'or', conditions: Knex.Raw[]): Knex.Raw {
    const { knex } = this.#context.scope;
    return conditions.length === 0
      ? knex.raw(String(operator === 'and'))
      : knex.raw(
          `(${conditions.map(() => '?').join(` ${operator} `)})`,
          conditions,
        );
  }
}

/**
 * The condition that the entity `e` matches a filter. It is never null.
 *
 * A filter means what it means to the stock catalog, and what has no meaning is
 * refused in the same words.
 *
 * @throws `InputError` for a filter that has no meaning, or is too large
 */
export function filterCondition(
  context: ConditionContext,
  filter: FilterPredicate,
): Knex.Raw {
  return new FilterReader(context).read(filter, 1);
}
