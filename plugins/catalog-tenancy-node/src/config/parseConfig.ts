import type { Config } from '@backstage/config';
import { InputError } from '@backstage/errors';
import { z } from 'zod';

// Errors show neither their values nor what is below them.
const SECRETS =
  /\.(jwtSecret|password|secret|url|options|ssl|tokenCredential)\b|\.connection$|^tenancy\.(tenants|plugins\.config)\b/;

/**
 * A part of the configuration with these keys and no others: Backstage would ignore a misspelt
 * one.
 *
 * @param shape - the messages of its errors are what is expected
 * @public
 */
export function configKeys<Shape extends z.ZodRawShape>(
  shape: Shape,
): z.ZodObject<Shape, z.core.$strict> {
  return z.strictObject(shape, {
    error: ({ code }) =>
      code === 'unrecognized_keys'
        ? `one of: ${Object.keys(shape).join(', ')}`
        : 'keys and values',
  });
}

/**
 * Reads a part of the configuration.
 *
 * @param key - such as `tenancy`
 * @param schema - the messages of its errors are what is expected
 * @throws `InputError` for an invalid value or an unknown key; it names the key and what is
 * expected, and shows no secret
 * @public
 */
export function parseConfig<T>(
  config: Config,
  key: string,
  schema: z.ZodType<T>,
): T {
  const { data, error } = schema.safeParse(config.getOptional(key) ?? {}, {
    reportInput: true,
  });
  if (!error) {
    return data;
  }
  const issue = innermost(error.issues[0]);
  const unknown = issue.code === 'unrecognized_keys' ? [issue.keys[0]] : [];
  const path = [key, ...issue.path, ...unknown].join('.');
  const found = SECRETS.test(path) ? 'not valid' : JSON.stringify(issue.input);
  throw new InputError(
    `The configuration ${path} is ${
      unknown.length > 0 ? 'unknown' : found
    }. Expected ${issue.message}.`,
  );
}

/** What is wrong below a value that may have several forms, if anything is. */
function innermost(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  const below =
    issue.code === 'invalid_union'
      ? issue.errors
          .flat()
          .find(
            ({ code, path }) => path.length > 0 || code === 'unrecognized_keys',
          )
      : undefined;
  return below
    ? innermost({ ...below, path: [...issue.path, ...below.path] })
    : issue;
}
