import { InputError } from '@backstage/errors';
import type {
  FilterPredicate,
  FilterPredicateExpression,
  FilterPredicateValue,
} from '@backstage/filter-predicates';

/**
 * Parses the parameters `filter` of `/entities`. Each is a list of ANDed conditions, such as
 * `kind=component,spec.type=service,metadata.annotations.x`; the parameters are ORed, and so
 * are several values of one key.
 *
 * @throws InputError that names the condition without a key
 * @public
 */
export function parseFilter(
  filters: readonly string[] | undefined,
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

/**
 * A predicate that matches entities with one of the values at a key.
 *
 * @param key - a key of an entity, not beginning with `$`, which marks operators
 * @param values - an empty list matches no entity; if undefined, all entities with the key
 * match
 * @public
 */
export function hasValue(
  key: string,
  values?: string[],
): FilterPredicateExpression {
  if (!values) {
    return expression(key, { $exists: true });
  }
  return expression(key, values.length === 1 ? values[0] : { $in: values });
}

function expression(
  key: string,
  value: FilterPredicateValue,
): FilterPredicateExpression {
  return { [key]: value } as FilterPredicateExpression;
}
