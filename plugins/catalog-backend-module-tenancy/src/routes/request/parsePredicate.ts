import { InputError } from '@backstage/errors';
import {
  createZodV3FilterPredicateSchema,
  type FilterPredicate,
} from '@backstage/filter-predicates';
import { fromZodError } from 'zod-validation-error/v3';
import { z } from 'zod/v3';

const schema = createZodV3FilterPredicateSchema(z);

/**
 * Parses the `query` of a body, a predicate.
 *
 * @throws InputError with the stock catalog's message for an invalid predicate
 */
export function parsePredicate(query: unknown): FilterPredicate | undefined {
  if (query === undefined) {
    return undefined;
  }
  assertBounded(query, 'query');
  const result = schema.safeParse(query);
  if (!result.success) {
    throw new InputError(`Invalid query: ${fromZodError(result.error)}`);
  }
  return result.data;
}

// Twice the depth of predicates, because a list is a level too.
const MAX_DEPTH = 250;
// A predicate has at most 200 conditions. The schema takes a tenth of a millisecond for each.
const MAX_OBJECTS = 1_000;

/**
 * Refuses large values: the recursive schemas of predicates would overflow the stack, or block the
 * event loop.
 *
 * @param what - names the value in the message
 * @throws InputError for too many levels, or too many objects and lists
 */
export function assertBounded(
  json: unknown,
  what: string,
  { levels = MAX_DEPTH, objects = MAX_OBJECTS } = {},
): void {
  let layer: object[] = [{ json }];
  let left = objects;
  for (let level = 0; layer.length > 0; level += 1) {
    if (level > levels) {
      throw new InputError(
        `Malformed ${what}, it is nested deeper than ${levels} levels`,
      );
    }
    left -= layer.length;
    if (left < 0) {
      throw new InputError(
        `Malformed ${what}, it has more than ${objects} objects and lists`,
      );
    }
    layer = layer
      .flatMap(holder => Object.values(holder))
      .filter(value => typeof value === 'object' && value !== null);
  }
}
