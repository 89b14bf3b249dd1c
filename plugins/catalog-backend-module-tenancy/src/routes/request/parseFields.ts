import type { Entity } from '@backstage/catalog-model';
import { InputError } from '@backstage/errors';
import type { JsonObject } from '@backstage/types';
import { set } from 'lodash';

/** Reduces an entity to some of its fields. */
export type Projection = (entity: Entity) => JsonObject;

/**
 * Parses the parameter `fields`: paths of what is to be kept of each entity.
 *
 * @returns nothing where entities stay whole
 * @throws InputError that names a path into an array
 */
export function parseFields(
  ...given: Array<string[] | undefined>
): Projection | undefined {
  const fields = given
    .flatMap(list => list ?? [])
    .flatMap(list => list.split(','))
    .map(field => field.trim())
    .filter(Boolean);
  if (fields.length === 0) {
    return undefined;
  }
  const intoArray = fields.find(field => field.includes('['));
  if (intoArray) {
    throw new InputError(
      `Invalid field "${intoArray}", array type fields are not supported`,
    );
  }
  const paths = [...new Set(fields)].map(field => field.split('.'));
  return entity => {
    const projected = {};
    for (const parts of paths) {
      const found = find(entity, parts);
      if (found?.value !== undefined) {
        set(projected, found.path, found.value);
      }
    }
    return projected;
  };
}

/**
 * Follows a path. Keys may have dots in them: what is not there is tried again
 * together with the part after it, as `backstage.io/managed-by` is in
 * `metadata.annotations.backstage.io/managed-by`.
 */
function find(
  root: unknown,
  parts: string[],
): { path: string[]; value: unknown } | undefined {
  const path = [];
  let value = root;
  let pending: string | undefined;
  for (const part of parts) {
    const key: string = pending === undefined ? part : `${pending}.${part}`;
    const holder = Object(value);
    if (Object.hasOwn(holder, key)) {
      path.push(key);
      value = holder[key];
      pending = undefined;
    } else {
      pending = key;
    }
  }
  return pending === undefined ? { path, value } : undefined;
}
