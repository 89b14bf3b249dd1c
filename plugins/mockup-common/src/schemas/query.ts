import { z } from 'zod';
import { MOCKUP_LIMITS } from '../limits';
import type { ListMockupsQuery, ListTrashQuery, Pagination } from '../types';
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
  limit: z
    .int({ error: LIMIT })
    .min(1, LIMIT)
    .max(MOCKUP_LIMITS.pageSize, LIMIT)
    .default(MOCKUP_LIMITS.defaultPageSize),
  offset: z.int({ error: OFFSET }).min(0, OFFSET).default(0),
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

/**
 * Which page of a list to return, with the defaults filled in.
 *
 * @public
 */
export const paginationSchema: z.ZodType<
  Pagination & Required<Pick<Pagination, 'limit' | 'offset'>>
> = withOneStart(pagination);

const selection = pagination.extend({
  owner: storableText(OWNER)
    .regex(/^user:[^/]+\/.+$/, OWNER)
    .optional(),
  search: storableText('a text to look for').optional(),
});

/**
 * Which deleted mockups to list, with the defaults filled in.
 *
 * @public
 */
export const listTrashQuerySchema: z.ZodType<
  ListTrashQuery & Required<Pick<ListTrashQuery, 'limit' | 'offset'>>
> = withOneStart(selection);

/**
 * Which mockups to list, with the defaults filled in.
 *
 * @public
 */
export const listMockupsQuerySchema: z.ZodType<
  ListMockupsQuery &
    Required<Pick<ListMockupsQuery, 'limit' | 'offset' | 'orderBy'>>
> = withOneStart(
  selection.extend({
    orderBy: z
      .enum(ORDERS, { error: `one of ${ORDERS.join(' | ')}` })
      .default('updatedAt,desc'),
  }),
);

/**
 * Which version to compare another one with.
 *
 * @public
 */
export const compareVersionsQuerySchema: z.ZodType<{ to: string }> =
  z.strictObject({ to: z.uuid({ error: 'the id of a version, a UUID' }) });
