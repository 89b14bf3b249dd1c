import { InputError } from '@backstage/errors';
import type { z } from 'zod';

const MOST_PROBLEMS = 5;
const LONGEST_VALUE = 60;
const LONGEST_PATH = 240;

/**
 * Parses what a caller sent against one of the schemas of this package.
 *
 * @param schema - what is expected
 * @param input - what was sent
 * @param name - what to call it in the error, such as `request body`
 * @param path - where the input is within what has that name
 * @returns the input as the schema returns it
 * @throws InputError that names each bad value and the form that was expected
 *
 * @public
 */
export function parseInput<TSchema extends z.ZodType>(
  schema: TSchema,
  input: unknown,
  name: string,
  path: PropertyKey[] = [],
): z.output<TSchema> {
  const result = schema.safeParse(input);
  if (result.success) {
    return result.data;
  }
  const problems = result.error.issues.map(issue =>
    describe(issue, input, path),
  );
  throw new InputError(`Invalid ${name}: ${joinFirst(problems, '; ')}`);
}

function describe(
  issue: z.core.$ZodIssue,
  input: unknown,
  path: PropertyKey[],
): string {
  const place = formatPath([...path, ...issue.path]);
  if (issue.code === 'unrecognized_keys') {
    const keys = joinFirst(issue.keys.map(formatValue), ', ');
    return `unknown field ${keys}${place && ` in ${place}`}`;
  }
  const value = issue.path.reduce<unknown>(valueAt, input);
  const subject = place || 'it';
  return value === undefined
    ? `${subject} is missing, expected ${issue.message}`
    : `${subject} must be ${issue.message}, got ${formatValue(value)}`;
}

/** Keeps an error short, however much is wrong with an input. */
function joinFirst(problems: string[], separator: string): string {
  const shown = problems.slice(0, MOST_PROBLEMS);
  if (problems.length > shown.length) {
    shown.push(`and ${problems.length - shown.length} more`);
  }
  return shown.join(separator);
}

function valueAt(parent: unknown, key: PropertyKey): unknown {
  return typeof parent === 'object' && parent !== null
    ? Reflect.get(parent, key)
    : undefined;
}

/** Callers choose the keys of `props`: any length, any characters. */
function formatPath(path: PropertyKey[]): string {
  const text = path.reduce<string>((parent, key) => {
    if (typeof key === 'number') {
      return `${parent}[${key}]`;
    }
    const name = String(key);
    if (!/^[\w$-]{1,60}$/.test(name)) {
      return `${parent}[${formatValue(name)}]`;
    }
    return parent ? `${parent}.${name}` : name;
  }, '');
  return text.length > LONGEST_PATH ? `${text.slice(0, LONGEST_PATH)}…` : text;
}

// Not objects and lists: a caller may nest values of any size and depth in them.
function formatValue(value: unknown): string {
  if (Array.isArray(value)) {
    return 'a list';
  }
  if (typeof value === 'object' && value !== null) {
    return 'an object';
  }
  if (typeof value === 'string' && value.length > LONGEST_VALUE) {
    return `${JSON.stringify(value.slice(0, LONGEST_VALUE))}… (${
      Array.from(value).length
    } characters)`;
  }
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}
