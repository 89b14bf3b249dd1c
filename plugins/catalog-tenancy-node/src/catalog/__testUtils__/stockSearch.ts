import type { FilterPredicate } from '@backstage/filter-predicates';
import type { JsonObject, JsonValue } from '@backstage/types';

/** A row of the stock catalog's search table. */
export interface SearchRow {
  key: string;
  value: string | null;
}

const NOT_WALKED = new Set([
  'attachments',
  'relations',
  'status',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'metadata.etag',
]);

/** What the stock catalog would write into its search table for an entity. */
export function stockSearchRows(entity: JsonObject): SearchRow[] {
  const rows: Array<[string, unknown]> = [...walk('', entity)];
  const metadata = entity.metadata as JsonObject;
  rows.push(['metadata.name', metadata.name]);
  rows.push(['metadata.namespace', metadata.namespace]);
  rows.push(['metadata.uid', metadata.uid]);
  if (!metadata.namespace) {
    rows.push(['metadata.namespace', 'default']);
  }
  for (const each of (entity.relations ?? []) as JsonObject[]) {
    rows.push([`relations.${each.type}`, each.targetRef]);
  }
  return rows
    .map(([key, value]) => ({ key: key.toLowerCase(), value: toText(value) }))
    .filter(({ key }) => key.length <= 200);
}

function* walk(
  path: string,
  node: JsonValue | undefined,
): Generator<[string, unknown]> {
  if (NOT_WALKED.has(path)) {
    return;
  }
  if (typeof node !== 'object' || node === null) {
    yield [path, node];
  } else if (Array.isArray(node)) {
    for (const item of node) {
      yield* walk(path, item);
      if (typeof item === 'string') {
        yield [`${path}.${item}`, true];
      }
    }
  } else {
    for (const [key, child] of Object.entries(node)) {
      yield* walk(path ? `${path}.${key}` : key, child);
    }
  }
}

function toText(value: unknown): string | null {
  const text = String(value ?? '').toLowerCase();
  return value === undefined || value === null || text.length > 200
    ? null
    : text;
}

/** Whether the stock catalog finds an entity with these rows by a filter. */
export function stockMatches(
  rows: SearchRow[],
  filter: FilterPredicate,
): boolean {
  const conditions = filter as Record<string, any>;
  if ('$not' in conditions) {
    return !stockMatches(rows, conditions.$not);
  }
  if ('$all' in conditions) {
    return conditions.$all.every((each: FilterPredicate) =>
      stockMatches(rows, each),
    );
  }
  if ('$any' in conditions) {
    return conditions.$any.some((each: FilterPredicate) =>
      stockMatches(rows, each),
    );
  }
  return Object.entries(conditions).every(([key, value]) =>
    fieldMatches(rows, key.toLowerCase(), value),
  );
}

function fieldMatches(rows: SearchRow[], key: string, value: any): boolean {
  const values = rows.filter(row => row.key === key).map(row => row.value);
  if (typeof value !== 'object') {
    return values.includes(String(value).toLowerCase());
  }
  if ('$exists' in value) {
    return values.length > 0 === value.$exists;
  }
  if ('$in' in value) {
    return value.$in.some((each: unknown) => fieldMatches(rows, key, each));
  }
  if ('$hasPrefix' in value) {
    return values.some(each =>
      each?.startsWith(value.$hasPrefix.toLowerCase()),
    );
  }
  if (typeof value.$contains === 'object') {
    const { type, targetRef = { $exists: true } } = value.$contains;
    return fieldMatches(rows, `relations.${type.toLowerCase()}`, targetRef);
  }
  return fieldMatches(rows, key, value.$contains);
}
