// A lone surrogate matches \p{Surrogate} under the u flag, a pair does not.
const UNSTORABLE = /[\0\p{Surrogate}]/u;

/**
 * Whether PostgreSQL can store a string unchanged: it has no NUL character, and a
 * lone surrogate has no UTF-8 form.
 */
export function isStorableText(text: string): boolean {
  return !UNSTORABLE.test(text);
}

/**
 * Whether a text has so many characters, counted in code points as PostgreSQL and JSON Schema
 * count them: an emoji is one.
 */
export function isWithin(
  text: string,
  minimum: number,
  maximum: number,
): boolean {
  // A code point takes one or two UTF-16 units.
  if (text.length > 2 * maximum) {
    return false;
  }
  const { length } = Array.from(text);
  return length >= minimum && length <= maximum;
}
