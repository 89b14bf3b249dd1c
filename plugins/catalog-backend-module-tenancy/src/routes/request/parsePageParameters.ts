import type { Request } from 'express';
import type { PageRequest } from '../../pages/readEntityPage';
import { parseCursor } from './parseCursor';
import { type Projection, parseFields } from './parseFields';
import { parseFilter } from './parseFilter';
import { parseOrderFields } from './parseOrderFields';
import { parseQuery } from './parseQuery';

/** A page that is asked for, and what of its entities. */
export interface PageParameters {
  page: PageRequest;
  projection?: Projection;
}

/**
 * Parses the parameters of `GET /entities/by-query`. With a cursor all but `limit`
 * and `fields` come from that.
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
