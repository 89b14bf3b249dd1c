/**
 * What the capital letters stand for that keys of entity_terms begin with. No other key has
 * one: keys are in lower case. Each key is in three places of a term, the row and two indexes,
 * and is a third of its size when it is written out.
 *
 * @public
 */
export const KEY_PREFIXES: Readonly<Record<string, string>> = {
  A: 'metadata.annotations.',
  B: 'metadata.annotations.backstage.io/',
  L: 'metadata.labels.',
  M: 'metadata.',
  R: 'relations.',
  S: 'spec.',
  T: 'metadata.tags.',
};

const LONGEST_FIRST = Object.entries(KEY_PREFIXES).sort(
  ([, one], [, other]) => other.length - one.length,
);

/**
 * A key as entity_terms has it.
 *
 * @param key - in lower case, such as `metadata.annotations.backstage.io/techdocs-ref`
 * @returns such as `Btechdocs-ref`
 * @public
 */
export function toTermKey(key: string): string {
  const found = LONGEST_FIRST.find(([, prefix]) => key.startsWith(prefix));
  return found ? found[0] + key.slice(found[1].length) : key;
}

/**
 * SQL for the same.
 *
 * @param key - an SQL expression of the type text
 */
export function termKeySql(key: string): string {
  const cases = LONGEST_FIRST.map(
    ([letter, prefix]) =>
      `when starts_with(${key}, '${prefix}') then '${letter}' || substr(${key}, ${
        prefix.length + 1
      })`,
  );
  return `case ${cases.join('\n       ')} else ${key} end`;
}

// Values of these keys and of annotations nearly all differ. An index for counting equal ones
// only becomes larger by them, so their facets are read by the index on values.
const WIDE_KEYS = [
  'metadata.name',
  'metadata.title',
  'metadata.description',
  'metadata.uid',
  'metadata.links.url',
].map(toTermKey);
const ANNOTATIONS = { from: 'A', upto: 'C' };

/**
 * Whether `entity_terms_facets_idx` has a key.
 *
 * @param termKey - as {@link toTermKey} returns it
 * @public
 */
export function isCountedKey(termKey: string): boolean {
  return (
    (termKey < ANNOTATIONS.from || termKey >= ANNOTATIONS.upto) &&
    !WIDE_KEYS.includes(termKey)
  );
}

/** SQL for the same of the column `key`, in the form that the planner proves from a key. */
export const COUNTED_KEY = `(key < '${ANNOTATIONS.from}' or key >= '${ANNOTATIONS.upto}')
   and key <> all ('{${WIDE_KEYS}}'::text[])`;

// What the pages of Backstage's frontend show in columns, and so may be ordered by.
const ORDERED_KEYS = [
  'metadata.name',
  'metadata.title',
  'spec.type',
  'spec.lifecycle',
  'spec.owner',
].map(toTermKey);

/**
 * Whether `entity_terms_order_idx` has a key.
 *
 * @param termKey - as {@link toTermKey} returns it
 * @public
 */
export function isOrderedKey(termKey: string): boolean {
  return ORDERED_KEYS.includes(termKey);
}

/** SQL for the same of the column `key`, in the form that the planner proves from a key. */
export const ORDERED_KEY = `key = any ('{${ORDERED_KEYS}}'::text[])`;
