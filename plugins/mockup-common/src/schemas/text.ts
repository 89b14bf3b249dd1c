import { z } from 'zod';

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
 * A string of `minimum` to `maximum` characters, counted in code points as
 * PostgreSQL and JSON Schema count them.
 */
export function boundedText(minimum: number, maximum: number) {
  const expected =
    minimum > 0
      ? `a string of ${minimum} to ${maximum} characters`
      : `a string of at most ${maximum} characters`;

  return storableText(expected)
    .refine(text => isWithin(text, minimum, maximum), {
      error: expected,
      // One problem of a text is said.
      abort: true,
    })
    .meta({ minLength: minimum, maxLength: maximum });
}

/** A string of any length that PostgreSQL can store. */
export function storableText(expected: string) {
  return z.string({ error: expected }).refine(isStorableText, {
    error: `${expected} without NUL characters and lone surrogates`,
    abort: true,
  });
}

function isWithin(text: string, minimum: number, maximum: number): boolean {
  // A code point takes one or two UTF-16 units, so `length` decides most strings.
  if (text.length > 2 * maximum) {
    return false;
  }
  const length = text.length > maximum ? Array.from(text).length : text.length;
  return length >= minimum && length <= maximum;
}
