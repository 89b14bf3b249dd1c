import { InputError } from '@backstage/errors';
import type { FilterPredicate } from '@backstage/filter-predicates';
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
