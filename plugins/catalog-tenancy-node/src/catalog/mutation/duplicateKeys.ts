import type { JsonObject, JsonValue } from '@backstage/types';
import { SPECIAL_SEARCH_PATHS } from 'backstage-catalog-tenancy-migrations';

/**
 * The flattened keys of an entity that vary only in casing, in lower case. The stock
 * catalog refuses an entity that has any, for filters could not tell them apart.
 */
export function duplicateKeys(
  entity: JsonObject,
  relationTypes: string[],
): string[] {
  const keys = new Set<string>();
  // An array has a key for each of its strings, the first of each casing.
  const ofItems = new Set<string>();

  function visit(path: string, value: JsonValue | undefined): void {
    if (SPECIAL_SEARCH_PATHS.includes(path)) {
      return;
    }
    if (typeof value !== 'object' || value === null) {
      keys.add(path);
    } else if (Array.isArray(value)) {
      for (const item of value) {
        visit(path, item);
        if (typeof item === 'string') {
          addItem(`${path}.${item}`);
        }
      }
    } else {
      for (const [key, child] of Object.entries(value)) {
        visit(path ? `${path}.${key}` : key, child);
      }
    }
  }

  function addItem(key: string): void {
    if (!ofItems.has(key.toLowerCase())) {
      ofItems.add(key.toLowerCase());
      keys.add(key);
    }
  }

  visit('', entity);
  for (const key of ['metadata.name', 'metadata.namespace', 'metadata.uid']) {
    keys.add(key);
  }
  relationTypes.forEach(type => keys.add(`relations.${type}`));

  const seen = new Set<string>();
  const duplicates = new Set<string>();
  for (const key of keys) {
    const lower = key.toLowerCase();
    (seen.has(lower) ? duplicates : seen).add(lower);
  }
  return [...duplicates];
}
