import { isStorableText, isWithin, refuseLonger } from '@internal/http-client';
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
  const problem = {
    error: `${expected} without NUL characters and lone surrogates`,
    abort: true,
  };
  return (
    z
      .string({ error: expected })
      // Beside what is next, for the OpenAPI document.
      .regex(/^[^\0]*$/, problem)
      .refine(isStorableText, problem)
  );
}

/**
 * A list of at most so many entries, of which a longer one is refused before its entries are parsed.
 *
 * Its type is written out: earlier versions of zod have no name for the one that it infers.
 *
 * @param expected - continues "must be"
 */
export function boundedList<TEntry extends z.ZodType>(
  most: number,
  expected: string,
  list: z.ZodArray<TEntry>,
): z.ZodPipe<z.core.$ZodTransform<unknown, unknown>, z.ZodArray<TEntry>> {
  return z.preprocess(
    refuseLonger(most, expected),
    list.max(most, { error: expected, abort: true }),
  );
}
