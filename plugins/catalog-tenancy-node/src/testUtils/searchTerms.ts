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

// What is longer can't be looked for.
const LONGEST_VALUE = 200;

/** What an entity is found by: flattened keys and their values, in lower case. */
export type SearchTerms = Map<string, Set<string | null>>;

export function searchTermsOf(entity: Entity): SearchTerms {
  const terms: SearchTerms = new Map();
  const add = (key: string, value: unknown) => {
    const text = value === null ? null : String(value).toLowerCase();
    const values = terms.get(key.toLowerCase()) ?? new Set();
    values.add(text !== null && text.length > LONGEST_VALUE ? null : text);
    terms.set(key.toLowerCase(), values);
  };
  flatten('', entity, add);
  const { name, namespace = DEFAULT_NAMESPACE, uid } = entity.metadata;
  add('metadata.name', name);
  add('metadata.namespace', namespace);
  if (uid) {
    add('metadata.uid', uid);
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
