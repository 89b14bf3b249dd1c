import { messageOf, statusOf } from '@internal/pages';

/** What the backend finds wrong with a request, by field: its error names the fields. */
export function problemsOf<TField extends string>(
  fields: readonly TField[],
  error: unknown,
): Partial<Record<TField, string>> {
  if (statusOf(error) !== 400) {
    return {};
  }
  const problems: Partial<Record<TField, string>> = {};
  for (const problem of messageOf(error)
    .replace(/^Invalid [^:]*: /, '')
    .split('; ')) {
    const field = fields.find(each => problem.startsWith(`${each} `));
    if (field) {
      problems[field] = problem;
    }
  }
  return problems;
}
