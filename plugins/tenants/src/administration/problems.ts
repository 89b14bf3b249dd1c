import { messageOf, statusOf } from '@internal/pages';
import { useState } from 'react';

/**
 * Shows at the fields of a form what the backend finds wrong with them: its error names the fields.
 *
 * @param options.conflict - the field whose value another one has, where the backend answers 409
 */
export function useProblems<TValues extends object>(
  values: TValues,
  options: { conflict?: keyof TValues & string } = {},
) {
  const [problems, setProblems] = useState<
    Array<{ field: string; value: unknown; text: string }>
  >([]);

  function textsOf(error: unknown): Array<{ field: string; text: string }> {
    if (options.conflict && statusOf(error) === 409) {
      return [{ field: options.conflict, text: messageOf(error) }];
    }
    if (statusOf(error) !== 400) {
      return [];
    }
    const texts = messageOf(error).replace(/^Invalid [^:]*: /, '');
    return texts.split('; ').flatMap(text => {
      // Also of a part of the field, such as `roles.staff` or `scopes[0]`.
      const [name] = text.split(/[ .[]/);
      return name in values ? [{ field: name, text }] : [];
    });
  }

  return {
    /** Sends the form. Returns false if fields show what is wrong with them. */
    async send(request: () => Promise<unknown>): Promise<boolean> {
      try {
        await request();
        return true;
      } catch (error) {
        const found = textsOf(error);
        setProblems(
          found.map(problem => ({
            ...problem,
            value: values[problem.field as keyof TValues],
          })),
        );
        if (found.length === 0) {
          throw error;
        }
        return false;
      }
    },
    /** The props of a field, whose problem is shown while it has the value that was sent. */
    field: <TField extends keyof TValues>(name: TField) => ({
      value: values[name],
      validationBehavior: 'aria' as const,
      validate: () =>
        problems.find(
          ({ field, value }) =>
            field === name && Object.is(value, values[name]),
        )?.text ?? null,
    }),
  };
}
