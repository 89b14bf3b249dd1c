import { isStorableText, isWithin, refuseLonger } from '@internal/http-client';
import { z } from 'zod';
import { TENANT_ROLES } from '../roles';

const LONGEST_SLUG = 63;
const LARGEST_PAGE = 500;
const DEFAULT_PAGE = 100;
const SLUG = `1 to ${LONGEST_SLUG} characters of a-z, 0-9 and -`;

/** The slug of a tenant that there is. */
export const slug = z
  .string({ error: SLUG })
  .regex(new RegExp(`^[a-z0-9-]{1,${LONGEST_SLUG}}$`), SLUG);

export const role = z.enum(TENANT_ROLES, {
  error: '"viewer", "member" or "admin"',
});

export const count = z.int().min(0);
export const time = z.iso.datetime();
// Not `z.uuid()`: the id of the default tenant has no version.
export const uuid = z.guid();
export const principal = z.string().min(1).max(512);

/** A whole number within bounds. */
export function integer(minimum: number, maximum: number) {
  const expected = `an integer from ${minimum} to ${maximum}`;
  return z
    .int({ error: expected })
    .min(minimum, expected)
    .max(maximum, expected);
}

/**
 * A text of some length that PostgreSQL can store.
 *
 * Characters are counted as PostgreSQL and JSON Schema count them: an emoji is one.
 */
export function text(expected: string, minimum: number, maximum: number) {
  const problem = {
    error: `${expected} without NUL characters and lone surrogates`,
    abort: true,
  };
  return z
    .string({ error: expected })
    .regex(/^[^\0]*$/, problem)
    .refine(isStorableText, problem)
    .refine(value => isWithin(value, minimum, maximum), { error: expected })
    .meta({ minLength: minimum, maxLength: maximum });
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

/** What asks for a part of a list. */
export const pageFields = {
  /** 1 to 500; 100 by default */
  limit: integer(1, LARGEST_PAGE).default(DEFAULT_PAGE),
  /** How many entries to pass over first; none by default. */
  offset: integer(0, Number.MAX_SAFE_INTEGER).default(0),
};
