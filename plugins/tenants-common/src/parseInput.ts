import { InputError } from '@backstage/errors';
import { describeIssues } from '@internal/http-client';
import type { z } from 'zod';

/**
 * Parses what a caller sent against one of the schemas of this package.
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
  const problems = describeIssues(result.error.issues, input);
  throw new InputError(`Invalid ${name}: ${problems}`);
}
