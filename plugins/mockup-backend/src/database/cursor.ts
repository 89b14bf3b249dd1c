import { InputError } from '@backstage/errors';
import { createHash } from 'node:crypto';
import { z } from 'zod';

/** What a cursor is of: the tenant, the list, and what decides its entries and their order. */
export type CursorScope = (string | undefined)[];

// PostgreSQL writes a snapshot as xmin:xmax:xip_list.
const SNAPSHOT = /^\d{1,19}:\d{1,19}:(\d{1,19}(,\d{1,19})*)?$/;
const TIME = /^\d{4,6}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}$/;

const timeSchema = z.string().regex(TIME);

/** Where a page of a list has ended. */
const positionSchema = z.strictObject({
  /** The last entry: its value of the column that orders the list, and its id. */
  after: z.strictObject({ key: z.string(), id: z.uuid() }).optional(),
  /** When and at which snapshot of the database the reading began. */
  since: timeSchema,
  snapshot: z.string().regex(SNAPSHOT),
  /** Whether the entries that changed since are being read. */
  changed: z.boolean(),
});

export type CursorPosition = z.output<typeof positionSchema>;

const versionPositionSchema = z.strictObject({ after: timeSchema });

/** Where a page of versions has ended: at one that was saved at this time. */
export type VersionPosition = z.output<typeof versionPositionSchema>;

export function encodeCursor(
  scope: CursorScope,
  position: CursorPosition | VersionPosition,
): string {
  const text = Buffer.from(JSON.stringify(position)).toString('base64url');
  return `${text}.${digestOf(scope, text)}`;
}

export function decodeCursor(
  scope: CursorScope,
  cursor: string,
): CursorPosition {
  return decode(positionSchema, scope, cursor);
}

export function decodeVersionCursor(
  scope: CursorScope,
  cursor: string,
): VersionPosition {
  return decode(versionPositionSchema, scope, cursor);
}

/**
 * The digest finds cursors of another list, query or tenant, and damaged ones. It has no
 * secret: with a cursor of their own making, callers get nothing but other pages of a list that they may read.
 */
function decode<TSchema extends z.ZodType>(
  schema: TSchema,
  scope: CursorScope,
  cursor: string,
): z.output<TSchema> {
  const [text, digest] = cursor.split('.');
  if (digest === digestOf(scope, text)) {
    const position = schema.safeParse(
      JSON.parse(Buffer.from(text, 'base64url').toString()),
    );
    if (position.success) {
      return position.data;
    }
  }
  const shown = cursor.length > 60 ? `${cursor.slice(0, 60)}…` : cursor;
  throw new InputError(
    'Invalid query: cursor must be one that a page of this list led on by, with the same ' +
      `filters and order, got ${JSON.stringify(shown)}`,
  );
}

function digestOf(scope: CursorScope, text: string): string {
  return createHash('sha256')
    .update(JSON.stringify([scope.map(part => part ?? null), text]))
    .digest('base64url')
    .slice(0, 16);
}
