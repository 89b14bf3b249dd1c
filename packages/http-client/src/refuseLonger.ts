/**
 * Makes what refuses too long a list for `z.preprocess`: zod would parse all of it first, with an
 * issue or more for each entry, which takes a minute for a request of 1 MiB.
 *
 * @param expected - continues "must be"
 */
export function refuseLonger(most: number, expected: string) {
  return (
    value: unknown,
    context: {
      addIssue(issue: {
        code: 'custom';
        message: string;
        continue: false;
      }): void;
    },
  ): unknown => {
    if (Array.isArray(value) && value.length > most) {
      // Earlier versions of zod go on to the entries otherwise.
      context.addIssue({ code: 'custom', message: expected, continue: false });
    }
    return value;
  };
}
