import { isStorableText, isWithin } from '@internal/http-client';
import { z } from 'zod';

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
