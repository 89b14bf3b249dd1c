import { InputError } from '@backstage/errors';
import type { JsonObject } from '@backstage/types';
import { valuesIn } from './objects';
import { describeIssue, pathOf, tenantConfigSchema } from './operatorConfig';

const MAX_DEPTH = 20;
const MAX_VALUES = 10_000;
const MAX_CHARACTERS = 256 * 1024;
const FORBIDDEN_KEYS = new Set(['__proto__', 'constructor', 'prototype']);

/**
 * Checks the form of a configuration that an administrator of a tenant has written.
 *
 * @throws InputError that names the property and the expected form
 */
export function parseTenantConfig(config: JsonObject): JsonObject {
  checkSize(config);
  const result = tenantConfigSchema.safeParse(config);
  if (!result.success) {
    throw new InputError(describeIssue(result.error));
  }
  const { locations = [] } = result.data.catalog ?? {};
  locations.forEach(({ type, target }, i) => {
    const path = `catalog.locations[${i}]`;
    if (
      /[$][{]|[{]"[$]/.test(JSON.stringify(result.data.catalog?.locations?.[i]))
    ) {
      // Every reader of the tenant's catalog sees its locations.
      throw new InputError(`${path}: expected no reference to a secret here`);
    }
    if (type !== 'url') {
      throw new InputError(`${path}.type: expected 'url'`);
    }
    if (typeof target !== 'string' || !/^https?:\/\//i.test(target)) {
      throw new InputError(`${path}.target: expected a URL with http or https`);
    }
  });
  return config;
}

/** Checked before any recursion or expansion. */
function checkSize(config: JsonObject): void {
  let values = 0;
  let characters = 0;
  for (const [path, value] of valuesIn(config, [])) {
    const name = path.at(-1);
    values += 1;
    characters += typeof value === 'string' ? value.length : 0;
    characters += typeof name === 'string' ? name.length : 0;
    if (path.length > MAX_DEPTH) {
      throw new InputError(
        `${pathOf(path.slice(0, 3))}: expected at most ${MAX_DEPTH} levels`,
      );
    }
    if (values > MAX_VALUES || characters > MAX_CHARACTERS) {
      throw new InputError(
        `The configuration is too large: expected at most ${MAX_VALUES} values and ` +
          `${MAX_CHARACTERS} characters`,
      );
    }
    if (typeof name === 'string' && FORBIDDEN_KEYS.has(name)) {
      throw new InputError(`${pathOf(path)}: not a possible name`);
    }
  }
}
