import { InputError } from '@backstage/errors';
import type { Request } from 'express';

/** PostgreSQL's class of errors for values, such as a NUL in a text or a number out of range. */
const DATA_EXCEPTION = /^22...$/;

/** A missing column, also of a table that the statement does not read. */
const UNDEFINED = new Set(['42703', '42P01']);

/**
 * The caller's mistake in an error of PostgreSQL, if it is one: a value that PostgreSQL refuses.
 *
 * @param action - what failed, such as a route
 * @param request - of the caller; without one, no missing column is their mistake
 * @public
 */
export function refusedValue(
  { code = '', message }: { code?: string; message: string },
  action: string,
  request?: Pick<Request, 'body' | 'query'>,
): InputError | undefined {
  return DATA_EXCEPTION.test(code) ||
    (UNDEFINED.has(code) && request && namesColumn(request, message))
    ? new InputError(
        `${action} has a value that PostgreSQL cannot store or compare (${code}), such as an id that is not a UUID, a text with a NUL character or an unknown column`,
      )
    : undefined;
}

/**
 * Whether the query or the body has the name of the missing column, such as one to sort by. Otherwise
 * a table of the plugin lacks it, as in the middle of an upgrade.
 */
function namesColumn(
  { query, body }: Pick<Request, 'body' | 'query'>,
  message: string,
): boolean {
  // Knex puts the statement in front. Languages differ in all but the name, "a" or t.a.
  const [, quoted, ofTable] =
    /["«»„] ?(.+?) ?["«»“]|\S\.(\S+)/.exec(
      message.slice(message.lastIndexOf(' - ') + 1),
    ) ?? [];
  const name = quoted ?? ofTable;
  return (
    name !== undefined &&
    JSON.stringify([query, body]).includes(JSON.stringify(name).slice(1, -1))
  );
}
