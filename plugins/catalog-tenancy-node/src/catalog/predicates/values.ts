/** As the search table of the stock catalog: longer values count as null. */
const MAX_VALUE_LENGTH = 200;
/** As the search table of the stock catalog: longer keys are not there at all. */
const MAX_KEY_LENGTH = 200;

/**
 * What a value of a filter is compared as; nothing if no entity can have it.
 */
export function comparable(value: string | number | boolean): string[] {
  const text = String(value).toLowerCase();
  return text.length <= MAX_VALUE_LENGTH && isStorable(text) ? [text] : [];
}

/** The key that entities have for a key in any case; none where none can have it. */
export function storedKeys(anyCaseKey: string): string[] {
  const key = anyCaseKey.toLowerCase();
  return key.length <= MAX_KEY_LENGTH && isStorable(key) ? [key] : [];
}

/** PostgreSQL stores no NUL, and no half of a character. */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && Buffer.from(text).toString() === text;
}
