import { InputError } from '@backstage/errors';
import { createZodV3FilterPredicateSchema } from '@backstage/filter-predicates';
import { parseFilter } from 'backstage-plugin-catalog-tenancy-node';
import type { Request, Response } from 'express';
import { z } from 'zod/v3';
import type { SearchCriteria } from '../../predicates';
import type { EntityCursor, FullTextFilter, PageOrder } from '../EntityCursor';
import type { PageRequest } from '../readEntityPage';
import {
  type BodySchema,
  NUMBER,
  OBJECT,
  readJsonBody,
  STRING,
  STRINGS,
} from './parseBody';
import { parseFields, type Projection } from './parseFields';
import { assertBounded, parsePredicate } from './parsePredicate';
import { parseQuery } from './parseQuery';

/** A requested page, and the projection of its entities. */
export interface PageParameters {
  page: PageRequest;
  projection?: Projection;
}

/**
 * Parses the parameters of `GET /entities/by-query`. A cursor overrides all but `limit` and
 * `fields`.
 *
 * @throws InputError that names a parameter that is unknown or malformed
 */
export function parsePageParameters(query: Request['query']): PageParameters {
  const given = parseQuery(query, {
    fields: 'commaSeparated',
    limit: 'integer',
    offset: 'integer',
    orderField: 'strings',
    cursor: 'string',
    filter: 'strings',
    totalItems: ['include', 'exclude'],
    fullTextFilterTerm: 'string',
    fullTextFilterFields: 'commaSeparated',
  });
  const projection = parseFields(given.fields);
  const { limit, offset } = given;
  if (given.cursor !== undefined) {
    return { page: { limit, cursor: parseCursor(given.cursor) }, projection };
  }
  return {
    page: {
      limit,
      offset,
      query: parseFilter(given.filter),
      orderFields: parseOrderFields(given.orderField),
      fullTextFilter: {
        term: given.fullTextFilterTerm ?? '',
        fields: given.fullTextFilterFields,
      },
      countItems: given.totalItems !== 'exclude',
    },
    projection,
  };
}

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
 * Reads the body of `POST /entities/by-query`. A cursor overrides all but `limit` and `fields`.
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

/** Truncates fractions, as the stock catalog does. */
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

const filter: z.ZodType<SearchCriteria> = z.lazy(() =>
  z
    .object({ key: z.string(), values: z.array(z.string()).optional() })
    .or(z.object({ not: filter }))
    .or(z.object({ anyOf: z.array(filter) }))
    .or(z.object({ allOf: z.array(filter) })),
);

const place = z.array(z.string().or(z.null()));

// The keys are in the order of the resulting cursors.
const cursor = z.object({
  orderFields: z.array(
    // The stock catalog creates cursors without `order`, and then refuses them.
    z.object({ field: z.string(), order: z.enum(['asc', 'desc']).optional() }),
  ),
  fullTextFilter: z
    .object({ term: z.string(), fields: z.array(z.string()).optional() })
    .optional(),
  orderFieldValues: place,
  filter: filter.optional(),
  isPrevious: z.boolean(),
  query: createZodV3FilterPredicateSchema(z).optional(),
  firstSortFieldValues: place.optional(),
  totalItems: z.number().optional(),
});

// The text of the error has thousands of characters for each bad value, and grows with the third
// power of the depth: it had 400 MB for a filter of 200 levels.
const LONGEST_EXPLAINED = 1_000;
// Of earlier Backstage versions: a list of lists of values at most.
const MAX_FILTER_DEPTH = 10;

/**
 * Parses a cursor, which a client may have forged.
 *
 * @throws InputError for a malformed cursor
 */
function parseCursor(encoded: string): EntityCursor {
  try {
    const json = JSON.parse(Buffer.from(encoded, 'base64').toString('utf8'));
    assertBounded(json, 'cursor');
    assertBounded(json?.filter, 'cursor', { levels: MAX_FILTER_DEPTH });
    const result = cursor.safeParse(json);
    if (!result.success) {
      throw new InputError(
        `Malformed cursor: ${
          encoded.length > LONGEST_EXPLAINED
            ? 'it is not from an earlier response'
            : result.error
        }`,
      );
    }
    return result.data;
  } catch (error) {
    throw new InputError(`Malformed cursor: ${error}`);
  }
}

/**
 * Parses the parameters `orderField`, such as `metadata.name,desc`.
 *
 * @throws InputError for another direction than `asc` or `desc`
 */
function parseOrderFields(
  orderFields: string[] | undefined,
): PageOrder[] | undefined {
  return orderFields?.map(text => {
    const [field, order] = text.split(',');
    if (order !== undefined && order !== 'asc' && order !== 'desc') {
      throw new InputError('Invalid order field order, must be asc or desc');
    }
    return { field, order };
  });
}
