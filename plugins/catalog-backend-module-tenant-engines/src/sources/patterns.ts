import { InputError } from '@backstage/errors';

/** Of a name in a path; with more, a few names of files take minutes, by backtracking. */
const MOST_WILDCARDS = 3;
/** Of a pattern: a list in braces multiplies what is looked for. */
const MOST_LISTS = 3;
const MOST_LISTED = 20;

/**
 * Refuses a pattern of files that the thread of all tenants would match for long.
 *
 * @throws InputError
 */
export function refuseCostly(pattern: string): void {
  const lists = pattern.split('{').length - 1;
  const names = pattern.split('/');
  // A list may have parts of several names.
  const parts =
    lists > 0 ? [names.filter(name => name !== '**').join('')] : names;
  if (
    /[?*+@!]\(|\.\.[^/]*\}/.test(pattern) ||
    lists > MOST_LISTS ||
    pattern.split(',').length > MOST_LISTED ||
    names.filter(name => name === '**').length > MOST_WILDCARDS ||
    parts.some(part => (part.match(/\*+/g) ?? []).length > MOST_WILDCARDS)
  ) {
    throw new InputError(
      `The pattern ${pattern.slice(
        0,
        200,
      )} may take long to match. Expected at most ${MOST_WILDCARDS} * in the name of a file or folder, ${MOST_WILDCARDS} **, ${MOST_LISTS} lists such as {a,b}, and no +(…)`,
    );
  }
}
