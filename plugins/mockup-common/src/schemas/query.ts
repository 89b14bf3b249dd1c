import { z } from 'zod';
import { MOCKUP_LIMITS } from '../limits';
import { storableText } from './text';

const ORDERS = [
  'name,asc',
  'name,desc',
  'createdAt,asc',
  'createdAt,desc',
  'updatedAt,asc',
  'updatedAt,desc',
] as const;

const LIMIT = `an integer from 1 to ${MOCKUP_LIMITS.pageSize}`;
const OFFSET = 'an integer >= 0';
const OWNER = 'a user reference of the form user:<namespace>/<name>';

const pagination = z.strictObject({
  /** How many entries at most, from 1 to 500; 100 where it is not given. */
  limit: z
    .int({ error: LIMIT })
    .min(1, LIMIT)
    .max(MOCKUP_LIMITS.pageSize, LIMIT)
    .default(MOCKUP_LIMITS.defaultPageSize),
  /** How many entries to skip first. */
  offset: z.int({ error: OFFSET }).min(0, OFFSET).default(0),
  /**
   * The `nextCursor` of the page before, instead of an `offset`: goes on behind that page, whatever
   * was added, changed or deleted since. The rest of the query must be the same, but for `limit`.
   */
  cursor: z.string({ error: 'the cursor of a page' }).optional(),
});

/** A cursor says where to go on by itself. */
function withOneStart<TSchema extends typeof pagination>(
  schema: TSchema,
): TSchema {
  return schema.refine(
    ({ cursor, offset }) => cursor === undefined || offset === 0,
    { path: ['offset'], error: 'left out where there is a cursor' },
  );
}

/** Which page of a list to return, with the defaults filled in. @public */
export const paginationSchema = withOneStart(pagination);

/** Which page of a list to return. @public */
export type Pagination = z.input<typeof paginationSchema>;

const selection = pagination.extend({
  /** Only those of this user, as `user:<namespace>/<name>`. */
  owner: storableText(OWNER)
    .regex(/^user:[^/]+\/.+$/, OWNER)
    .optional(),
  /** Only those with this text in their name or description, in any case. */
  search: storableText('a text to look for').optional(),
});

/** Which deleted mockups to list, with the defaults filled in. @public */
export const listTrashQuerySchema = withOneStart(selection);

/** Which deleted mockups to list. @public */
export type ListTrashQuery = z.input<typeof listTrashQuerySchema>;

/** Which mockups to list, with the defaults filled in. @public */
export const listMockupsQuerySchema = withOneStart(
  selection.extend({
    /** `updatedAt,desc` where it is not given. */
    orderBy: z
      .enum(ORDERS, { error: `one of ${ORDERS.join(' | ')}` })
      .default('updatedAt,desc'),
  }),
);

/** Which mockups to list, and in which order. @public */
export type ListMockupsQuery = z.input<typeof listMockupsQuerySchema>;

/** Which version to compare another one with. @public */
export const compareVersionsQuerySchema = z.strictObject({
  to: z.uuid({ error: 'the id of a version, a UUID' }),
});

/** By which field and in which direction mockups are listed. @public */
export type MockupOrder = NonNullable<ListMockupsQuery['orderBy']>;
