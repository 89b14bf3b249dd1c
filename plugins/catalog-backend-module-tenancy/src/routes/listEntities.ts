import {
  parseFilter,
  type QueryEntities,
} from 'backstage-plugin-catalog-tenancy-node';
import type { Request } from 'express';
import type { ReadableCatalogStore } from '../authorization/AuthorizedCatalogStore';
import { PART_SIZE, readAll, readInParts } from './readInParts';
import { parseFields } from './request/parseFields';
import {
  parseOrder,
  parsePagination,
  stringifyNextPage,
} from './request/parseList';
import { parseQuery } from './request/parseQuery';
import { type Parts, projectParts } from './response';

/** A list of entities to send. */
export interface EntityList {
  parts: Parts;
  /** Whether the response has an ETag, as in the stock catalog, unless it is sent in parts. */
  tagged: boolean;
  /** The `after` of the next page, if there is one. */
  nextPage?: string;
}

/**
 * Handles `GET /entities`. Entities are read while the response is sent.
 *
 * @throws InputError for parameters that are unknown or malformed
 */
export async function listEntities(
  req: Request,
  catalog: ReadableCatalogStore,
  tenantId: string,
): Promise<EntityList> {
  const query = parseQuery(req.query, {
    fields: 'commaSeparated',
    limit: 'integer',
    filter: 'strings',
    offset: 'integer',
    after: 'string',
    order: 'strings',
  });
  const filter = parseFilter(query.filter);
  const projection = parseFields(query.fields);
  const order = parseOrder(query.order);
  const page = parsePagination(query);

  if (!page) {
    // As in the stock catalog, a list of all entities uses the first order field only, and
    // pages use all fields, with entities that lack a field last.
    const all = readAll(catalog, tenantId, { filter, order: order?.[0] });
    return {
      parts: await projectParts(tenantId, all, projection),
      tagged: true,
    };
  }
  const { parts, hasNextPage } = await readPage(catalog, tenantId, {
    filter,
    order,
    ...page,
  });
  return {
    parts: await projectParts(tenantId, parts, projection),
    tagged: projection !== undefined,
    nextPage: hasNextPage ? stringifyNextPage(page) : undefined,
  };
}

/**
 * Reads a page of entities. Whether there is a next page must be known before the first entity
 * is sent.
 */
async function readPage(
  catalog: ReadableCatalogStore,
  tenantId: string,
  query: QueryEntities,
): Promise<{ parts: Parts; hasNextPage: boolean }> {
  const { limit, offset = 0 } = query;
  if (limit === undefined) {
    return {
      parts: readInParts(catalog, tenantId, query),
      hasNextPage: false,
    };
  }
  if (limit >= PART_SIZE) {
    const [next] = await catalog.readEntities(tenantId, {
      ...query,
      limit: 1,
      offset: offset + limit,
    });
    return {
      parts: readInParts(catalog, tenantId, query),
      hasNextPage: next !== undefined,
    };
  }
  const read = await catalog.readEntities(tenantId, {
    ...query,
    limit: limit + 1,
  });
  return { parts: [read.slice(0, limit)], hasNextPage: read.length > limit };
}
