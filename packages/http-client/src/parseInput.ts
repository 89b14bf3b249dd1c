import { InputError } from '@backstage/errors';
import { describeIssues, type Issue } from './describeIssues';

/** A schema of zod whose messages continue "must be". */
interface Schema<TOutput> {
  safeParse(
    input: unknown,
  ):
    | { success: true; data: TOutput }
    | { success: false; error: { issues: Issue[] } };
}

/**
 * Parses what a caller sent.
 *
 * @param name - what to call it in the error, such as `request body`
 * @param path - where the input is within what has that name
 * @throws `InputError` that names each bad value and the form that was expected
 */
export function parseInput<TOutput>(
  schema: Schema<TOutput>,
  input: unknown,
  name: string,
  path: PropertyKey[] = [],
): TOutput {
  const result = schema.safeParse(input);
  if (result.success) {
    return result.data;
  }
  const problems = describeIssues(result.error.issues, input, path);
  throw new InputError(`Invalid ${name}: ${problems}`);
}
