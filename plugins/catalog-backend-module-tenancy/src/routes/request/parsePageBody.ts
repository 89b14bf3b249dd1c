import { InputError } from '@backstage/errors';
import type { Request, Response } from 'express';
import type { FullTextFilter, PageOrder } from '../../pages/EntityCursor';
import { type BodySchema, NUMBER, OBJECT, STRING, STRINGS } from './BodySchema';
import { parseCursor } from './parseCursor';
import { parseFields } from './parseFields';
import type { PageParameters } from './parsePageParameters';
import { parsePredicate } from './parsePredicate';
import { readJsonBody } from './readJsonBody';

interface PageBody {
  cursor?: string;
  limit?: number;
  offset?: number;
  orderBy?: Array<Required<PageOrder>>;
  fullTextFilter?: Partial<FullTextFilter>;
  fields?: string[];
  totalItems?: 'include' | 'exclude';
  query?: object;
}

const schema: BodySchema = {
  type: 'object',
  properties: {
    cursor: STRING,
    limit: NUMBER,
    offset: NUMBER,
    orderBy: {
      type: 'array',
      items: {
        type: 'object',
        required: ['field', 'order'],
        properties: {
          field: STRING,
          order: { type: 'string', enum: ['asc', 'desc'] },
        },
      },
    },
    fullTextFilter: {
      type: 'object',
      properties: { term: STRING, fields: STRINGS },
    },
    fields: STRINGS,
    totalItems: { type: 'string', enum: ['include', 'exclude'] },
    query: OBJECT,
  },
};

/**
 * Reads the body of `POST /entities/by-query`. With a cursor all but `limit` and
 * `fields` come from that.
 *
 * @throws InputError that names what is malformed
 */
export async function parsePageBody(
  req: Request,
  res: Response,
): Promise<PageParameters> {
  const body = await readJsonBody<PageBody>(req, res, schema);
  const limit = parseCount('limit', body.limit);
  if (body.cursor !== undefined) {
    if (!body.cursor) {
      throw new InputError('Cursor cannot be empty');
    }
    const cursor = parseCursor(body.cursor);
    return { page: { limit, cursor }, projection: parseFields(body.fields) };
  }
  const { fullTextFilter } = body;
  return {
    page: {
      query: parsePredicate(body.query),
      orderFields: body.orderBy?.map(({ field, order }) => ({ field, order })),
      fullTextFilter: fullTextFilter && {
        term: fullTextFilter.term ?? '',
        fields: fullTextFilter.fields,
      },
      limit,
      offset: parseCount('offset', body.offset),
      countItems: body.totalItems !== 'exclude',
    },
    projection: parseFields(body.fields),
  };
}

/** Takes fractions as the stock catalog does: without what follows the point. */
function parseCount(
  name: string,
  value: number | undefined,
): number | undefined {
  if (value === undefined) {
    return undefined;
  }
  const count = Math.floor(value);
  if (!Number.isSafeInteger(count) || count < 0) {
    throw new InputError(
      `Invalid ${name} ${value}, expected a number of 0 or more`,
    );
  }
  return count;
}
