import { InputError } from '@backstage/errors';
import type { JsonObject, JsonValue } from '@backstage/types';
import { refuseCostly } from '../sources/patterns';
import { nameAt, valuesIn } from './objects';
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
  refuseAll(rules, 'rules', /^pattern$/, refuseCostly);
  refuseAll(providers, 'providers', EXPRESSION_KEY, refuseCostlyExpression);
}

function refuseAll(
  part: JsonValue | undefined,
  name: string,
  key: RegExp,
  refuse: (text: string) => void,
): void {
  for (const [path, value] of valuesIn(part, ['catalog', name])) {
    if (typeof value === 'string' && key.test(nameAt(path))) {
      try {
        refuse(value);
      } catch (error) {
        throw new InputError(`${pathOf(path)}: ${(error as Error).message}`);
      }
    }
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
