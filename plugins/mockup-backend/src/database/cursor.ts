import { InputError } from '@backstage/errors';
import { createHash } from 'node:crypto';
import { z } from 'zod';

/** Identifies the list of a cursor: the tenant, the list, its filters and its order. */
export type CursorScope = (string | undefined)[];

// PostgreSQL's text form of a snapshot: xmin:xmax:xip_list, with numbers that fit a bigint.
const SNAPSHOT = /^\d{1,18}:\d{1,18}:(\d{1,18}(,\d{1,18})*)?$/;
const TIME = /^\d{4,6}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}$/;

const timeSchema = z.string().regex(TIME);

/** The end of a page. */
export const positionSchema = z.strictObject({
  /** The last entry: the value of its order column, and its id. */
  after: z.strictObject({ key: z.string(), id: z.uuid() }).optional(),
  /** The time and the snapshot of the first page. */
  since: timeSchema,
  snapshot: z.string().regex(SNAPSHOT),
  /** Whether the pages of changed entries have begun. */
  changed: z.boolean(),
});

export type CursorPosition = z.output<typeof positionSchema>;

/** The end of a page of versions: the time of the last version. */
export const versionPositionSchema = z.strictObject({ after: timeSchema });

export function encodeCursor(
  scope: CursorScope,
  position: CursorPosition | z.output<typeof versionPositionSchema>,
): string {
  const text = Buffer.from(JSON.stringify(position)).toString('base64url');
  return `${text}.${digestOf(scope, text)}`;
}

/**
 * The digest detects cursors of another list, query or tenant, and damaged ones. It has no
 * secret: a forged cursor only leads to other pages of a list that the caller may read.
 */
export function decodeCursor<TSchema extends z.ZodType>(
  schema: TSchema,
  scope: CursorScope,
  cursor: string,
): z.output<TSchema> {
  const [text, digest] = cursor.split('.');
  if (digest === digestOf(scope, text)) {
    const position = schema.safeParse(parseJson(text));
    if (position.success) {
      return position.data;
    }
  }
  const shown = cursor.length > 60 ? `${cursor.slice(0, 60)}…` : cursor;
  throw new InputError(
    'Invalid query: cursor must be from a page of this list with the same ' +
      `filters and order, got ${JSON.stringify(shown)}`,
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString());
  } catch {
    return undefined;
  }
}

function digestOf(scope: CursorScope, text: string): string {
  return createHash('sha256')
    .update(JSON.stringify([scope.map(part => part ?? null), text]))
    .digest('base64url')
    .slice(0, 16);
}
