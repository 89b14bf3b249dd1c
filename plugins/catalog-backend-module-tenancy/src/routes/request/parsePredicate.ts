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
  assertNotDeeper(query, 'query');
  const result = schema.safeParse(query);
  if (!result.success) {
    throw new InputError(`Invalid query: ${fromZodError(result.error)}`);
  }
  return result.data;
}

// Twice the depth of predicates, because a list is a level too.
const MAX_DEPTH = 250;

/**
 * Refuses deeply nested values: the recursive schemas of predicates would overflow the stack.
 *
 * @param what - names the value in the message
 * @throws InputError for more than 250 levels
 */
export function assertNotDeeper(json: unknown, what: string): void {
  let layer: object[] = [{ json }];
  for (let level = 0; layer.length > 0; level += 1) {
    if (level > MAX_DEPTH) {
      throw new InputError(
        `Malformed ${what}, it is nested deeper than ${MAX_DEPTH} levels`,
      );
    }
    layer = layer
      .flatMap(holder => Object.values(holder))
      .filter(value => typeof value === 'object' && value !== null);
  }
}
