import { InputError } from '@backstage/errors';
import {
  createZodV3FilterPredicateSchema,
  type FilterPredicate,
} from '@backstage/filter-predicates';
import { fromZodError } from 'zod-validation-error/v3';
import { z } from 'zod/v3';
import { hasValue } from '../../predicates';

/**
 * Parses the parameters `filter`: each is a list of conditions that all have to
 * hold, such as `kind=component,spec.type=service,metadata.annotations.x`. An
 * entity has to match one of them. A key that is there several times has to have
 * one of its values.
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
  // An operator of predicates is no key of an entity.
  if (!key?.trim() || key.trim().startsWith('$')) {
    throw new InputError(
      `Invalid filter, '${statement}' is not a valid statement (expected a string on the form a=b or a= or a)`,
    );
  }
  return { key: key.trim(), value: value?.trim() };
}

const schema = createZodV3FilterPredicateSchema(z);

/**
 * Parses the `query` of a body, which says what entities have to match.
 *
 * @throws InputError that names what is not a predicate, in the words of the stock
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

// Twice as deep as predicates may be: a list is a level too.
const MAX_DEPTH = 250;

/**
 * Refuses what is nested so deep that the schemas of predicates, which call
 * themselves for each level, would fill the stack.
 *
 * @param what - is so deep, for the message
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
