import { InputError } from '@backstage/errors';
import {
  createZodV3FilterPredicateSchema,
  type FilterPredicate,
} from '@backstage/filter-predicates';
import { fromZodError } from 'zod-validation-error/v3';
import { z } from 'zod/v3';
import { hasValue } from '../../predicates';

/**
 * Parses the parameters `filter`. Each is a list of ANDed conditions, such as
 * `kind=component,spec.type=service,metadata.annotations.x`; the parameters are ORed, and so
 * are several values of one key.
 *
 * @throws InputError that names the condition without a key
 */
export function parseFilter(
  filters: string[] | undefined,
): FilterPredicate | undefined {
  const alternatives = (filters ?? [])
    .map(parseConditions)
    .filter(conditions => conditions.length > 0)
    .map(conditions =>
      conditions.length === 1 ? conditions[0] : { $all: conditions },
    );
  return alternatives.length > 1 ? { $any: alternatives } : alternatives[0];
}

function parseConditions(filter: string): FilterPredicate[] {
  const valuesOf = new Map<string, string[]>();
  for (const statement of filter.split(',').map(text => text.trim())) {
    if (statement) {
      const { key, value } = parseStatement(statement);
      const values = valuesOf.get(key) ?? [];
      valuesOf.set(key, value === undefined ? values : [...values, value]);
    }
  }
  return [...valuesOf].map(([key, values]) =>
    hasValue(key, values.length ? values : undefined),
  );
}

function parseStatement(statement: string): { key: string; value?: string } {
  const [, key, value] = /^([^=]*)(?:=(.*))?$/s.exec(statement) ?? [];
  // Keys beginning with `$` would be operators.
  if (!key?.trim() || key.trim().startsWith('$')) {
    throw new InputError(
      `Invalid filter, '${statement}' is not a valid statement (expected a string on the form a=b or a= or a)`,
    );
  }
  return { key: key.trim(), value: value?.trim() };
}

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
