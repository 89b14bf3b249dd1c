import { InputError } from '@backstage/errors';
import type { z } from 'zod';

const MOST_PROBLEMS = 5;
const LONGEST_VALUE = 60;

/**
 * Parses what a caller sent against one of the schemas of this package.
 *
 * `parseInput` of mockup-common words its errors in the same way, for nested input too.
 * The two stay apart: the plugins can be installed without each other, and a package that
 * is built into both would have to be a common library, unlike `packages/http`.
 *
 * @param schema - what is expected; its messages continue "must be"
 * @param input - what was sent
 * @param name - what to call it in the error, such as `query`
 * @returns the input as the schema returns it
 * @throws `InputError` that names each bad value and the form that was expected
 *
 * @public
 */
export function parseInput<TSchema extends z.ZodType>(
  schema: TSchema,
  input: unknown,
  name: string,
): z.output<TSchema> {
  const result = schema.safeParse(input);
  if (result.success) {
    return result.data;
  }
  const problems = result.error.issues.map(issue => describe(issue, input));
  throw new InputError(`Invalid ${name}: ${firstOf(problems, '; ')}`);
}

function describe(issue: z.core.$ZodIssue, input: unknown): string {
  if (issue.code === 'unrecognized_keys') {
    return `unknown field ${firstOf(issue.keys.map(format), ', ')}`;
  }
  const [field] = issue.path;
  const value =
    field === undefined ? input : Reflect.get(input as object, field);
  const subject = field === undefined ? 'it' : String(field);
  return value === undefined
    ? `${subject} is missing, expected ${issue.message}`
    : `${subject} must be ${issue.message}, got ${format(value)}`;
}

/** Keeps an error short, however many problems there are. */
function firstOf(texts: string[], separator: string): string {
  const more = texts.length - MOST_PROBLEMS;
  return [
    ...texts.slice(0, MOST_PROBLEMS),
    ...(more > 0 ? [`and ${more} more`] : []),
  ].join(separator);
}

function format(value: unknown): string {
  if (Array.isArray(value)) {
    return 'a list';
  }
  if (typeof value === 'object' && value !== null) {
    return 'an object';
  }
  if (typeof value !== 'string') {
    return String(value);
  }
  return value.length > LONGEST_VALUE
    ? `${JSON.stringify(value.slice(0, LONGEST_VALUE))}…`
    : JSON.stringify(value);
}
