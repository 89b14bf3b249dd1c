import { InputError } from '@backstage/errors';
import type { JsonObject, JsonValue } from '@backstage/types';
import { refuseCostly } from '../sources/patterns';
import { pathOf } from './operatorConfig';

/** Properties of providers that are regular expressions. */
const EXPRESSION_KEY = /pattern|regex|repository|projectKey|repoSlug/i;

const MOST_REPETITIONS = 3;

/**
 * Refuses patterns and regular expressions that the thread of all tenants would match for long:
 * what they are matched with, such as the names of repositories, the tenant writes too.
 *
 * @throws InputError that names the property
 */
export function checkPatterns({ catalog = {} }: JsonObject): void {
  const { providers, rules } = catalog as JsonObject;
  visit(rules, ['catalog', 'rules'], /^pattern$/, refuseCostly);
  visit(
    providers,
    ['catalog', 'providers'],
    EXPRESSION_KEY,
    refuseCostlyExpression,
  );
}

function visit(
  value: JsonValue | undefined,
  path: PropertyKey[],
  key: RegExp,
  check: (text: string) => void,
): void {
  if (typeof value === 'string') {
    const name = path.filter(step => typeof step === 'string').pop() as string;
    if (key.test(name)) {
      try {
        check(value);
      } catch (error) {
        throw new InputError(`${pathOf(path)}: ${(error as Error).message}`);
      }
    }
  } else if (Array.isArray(value)) {
    value.forEach((item, i) => visit(item, [...path, i], key, check));
  } else if (value) {
    Object.entries(value).forEach(([name, item]) =>
      visit(item, [...path, name], key, check),
    );
  }
}

function refuseCostlyExpression(expression: string): void {
  const bare = expression.replace(/\\./g, 'x').replace(/\[[^\]]*\]/g, 'x');
  const repetitions = bare.match(/[*+]|\{\d+,/g) ?? [];
  if (/\)[*+{]/.test(bare) || repetitions.length > MOST_REPETITIONS) {
    throw new InputError(
      `the expression may take long to match. Expected at most ${MOST_REPETITIONS} of *, + and {n,m}, and none after a group`,
    );
  }
}
