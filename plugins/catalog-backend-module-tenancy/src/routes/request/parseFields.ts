import type { Entity } from '@backstage/catalog-model';
import { InputError } from '@backstage/errors';
import type { JsonObject } from '@backstage/types';
import { isPlainObject, setWith } from 'lodash';

// Bounded, because each field is looked up in each entity on the event loop.
const MAX_FIELDS = 200;

/** Reduces an entity to some of its fields. */
export type Projection = (entity: Entity) => JsonObject;

/**
 * Parses the parameter `fields`: the paths to keep of each entity.
 *
 * @returns undefined if entities are returned whole
 * @throws InputError that names a path into an array, or if there are too many
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
  if (paths.length > MAX_FIELDS) {
    throw new InputError(
      `Invalid fields, expected at most ${MAX_FIELDS}, got ${paths.length}`,
    );
  }
  return entity => {
    const projected = {};
    for (const parts of paths) {
      const found = find(entity, parts);
      if (found?.value !== undefined) {
        put(projected, found);
      }
    }
    return projected;
  };
}

/** The JSON text of an entity, projected if there is a projection. */
export function projectJson(
  json: string,
  projection: Projection | undefined,
): string {
  return projection ? JSON.stringify(projection(JSON.parse(json))) : json;
}

interface Found {
  path: string[];
  /** The values along the path, from the entity on. */
  holders: unknown[];
  value: unknown;
}

/**
 * Follows a path. Keys may contain dots: an unknown key is joined with the next part, such as
 * `backstage.io/managed-by` in `metadata.annotations.backstage.io/managed-by`.
 */
function find(root: unknown, parts: string[]): Found | undefined {
  const path = [];
  const holders = [];
  let value = root;
  let pending: string | undefined;
  for (const part of parts) {
    const key: string = pending === undefined ? part : `${pending}.${part}`;
    const holder = Object(value);
    if (Object.hasOwn(holder, key)) {
      path.push(key);
      holders.push(value);
      value = holder[key];
      pending = undefined;
    } else if (hasKeyBeginningWith(holder, `${key}.`)) {
      pending = key;
    } else {
      // No longer key begins like this.
      return undefined;
    }
  }
  return pending === undefined ? { path, holders, value } : undefined;
}

function hasKeyBeginningWith(holder: object, beginning: string): boolean {
  return (
    isPlainObject(holder) &&
    Object.keys(holder).some(key => key.startsWith(beginning))
  );
}

/**
 * Sets a value at its path. Creates objects for objects: lodash would create an array for a
 * numeric key, which has 4 billion items for `4000000000`.
 */
function put(projected: object, { path, holders, value }: Found): void {
  let depth = 0;
  setWith(projected, path, value, existing => {
    depth += 1;
    return existing === undefined && isPlainObject(holders[depth])
      ? {}
      : undefined;
  });
}
