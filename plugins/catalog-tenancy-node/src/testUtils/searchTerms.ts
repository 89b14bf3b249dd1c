import { DEFAULT_NAMESPACE, type Entity } from '@backstage/catalog-model';

// The stock catalog gives these terms of their own, or none.
const LEFT_OUT = new Set([
  'attachments',
  'relations',
  'status',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'metadata.etag',
]);

// Keys that are longer are left out; values that are longer count as null.
const LONGEST = 200;

/**
 * What an entity is found by: flattened keys in lower case, and their values in lower
 * case, with how each is written in the entity. A value may be null.
 */
export type SearchTerms = Map<string, Map<string | null, string | null>>;

export function searchTermsOf(entity: Entity): SearchTerms {
  const terms: SearchTerms = new Map();
  const add = (key: string, given: unknown) => {
    const text = given === null || given === undefined ? null : String(given);
    const original =
      text !== null && text.toLowerCase().length > LONGEST ? null : text;
    const value = original === null ? null : original.toLowerCase();
    const lowered = key.toLowerCase();
    if (lowered.length <= LONGEST) {
      const values =
        terms.get(lowered) ?? new Map<string | null, string | null>();
      if (!values.has(value)) {
        values.set(value, original);
      }
      terms.set(lowered, values);
    }
  };
  flatten('', entity, add);
  const { name, namespace, uid } = entity.metadata;
  add('metadata.name', name);
  add('metadata.namespace', namespace);
  add('metadata.uid', uid);
  if (!namespace) {
    add('metadata.namespace', DEFAULT_NAMESPACE);
  }
  for (const { type, targetRef } of entity.relations ?? []) {
    add(`relations.${type}`, targetRef);
  }
  return terms;
}

function flatten(
  path: string,
  value: unknown,
  add: (key: string, value: unknown) => void,
): void {
  if (LEFT_OUT.has(path) || value === undefined) {
    return;
  }
  if (typeof value !== 'object' || value === null) {
    add(path, value);
    return;
  }
  if (Array.isArray(value)) {
    for (const item of value) {
      flatten(path, item, add);
      if (typeof item === 'string') {
        add(`${path}.${item}`, true);
      }
    }
    return;
  }
  for (const [key, child] of Object.entries(value)) {
    flatten(path ? `${path}.${key}` : key, child, add);
  }
}
