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

/**
 * Which page of a list: `limit` entries after skipping `offset`.
 *
 * @public
 */
export const paginationSchema = z.strictObject({
  limit: z
    .int({ error: LIMIT })
    .min(1, LIMIT)
    .max(MOCKUP_LIMITS.pageSize, LIMIT)
    .default(MOCKUP_LIMITS.defaultPageSize),
  offset: z.int({ error: OFFSET }).min(0, OFFSET).default(0),
});

/**
 * The query of `GET /mockups`: a page, and optionally whose mockups, which
 * text their name or description contains (in any case), and in which order.
 *
 * @public
 */
export const listMockupsQuerySchema = paginationSchema.extend({
  owner: storableText(OWNER)
    .regex(/^user:[^/]+\/[^/]+$/i, OWNER)
    .optional(),
  search: storableText('a text to look for').optional(),
  orderBy: z
    .enum(ORDERS, { error: `one of ${ORDERS.join(' | ')}` })
    .default('updatedAt,desc'),
});

/**
 * Which page of a list to return; see {@link paginationSchema}.
 *
 * @public
 */
export type Pagination = z.input<typeof paginationSchema>;

/**
 * Which mockups to list; see {@link listMockupsQuerySchema}.
 *
 * @public
 */
export type ListMockupsQuery = z.input<typeof listMockupsQuerySchema>;
