import { InputError } from '@backstage/errors';
import {
  createZodV3FilterPredicateSchema,
  type FilterPredicate,
} from '@backstage/filter-predicates';
import { z } from 'zod/v3';
import { fromZodError } from 'zod-validation-error/v3';
import { assertNotDeeper } from './assertNotDeeper';

const schema = createZodV3FilterPredicateSchema(z);

/**
 * Parses the `query` of a body, which says what entities have to match.
 *
 * @throws InputError that names what is no predicate, in the words of the stock
 * catalog
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
