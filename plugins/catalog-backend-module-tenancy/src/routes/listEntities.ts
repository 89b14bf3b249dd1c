import type { Entity } from '@backstage/catalog-model';
import type { QueryEntities } from 'backstage-plugin-catalog-tenancy-node';
import type { Request } from 'express';
import type { ReadableCatalogStore } from '../authorization/AuthorizedCatalogStore';
import { allOf, hasValue } from '../predicates';
import { PART_SIZE, readInParts } from './readInParts';
import { type Projection, parseFields } from './request/parseFields';
import { parseFilter } from './request/parseFilter';
import { parseOrder } from './request/parseOrder';
import { parsePagination, stringifyNextPage } from './request/parsePagination';
import { parseQuery } from './request/parseQuery';

/** A list of entities as it is to be sent. */
export interface EntityList {
  parts: AsyncIterable<object[]>;
  /** The `after` of the next page, if there is one. */
  nextPage?: string;
}

/**
 * Finds what `GET /entities` asks for. Entities are read as the answer is sent.
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
    // The stock catalog has all entities in the order of a field only if they have
    // that field. In pages, those without it come last.
    const withField = order && hasValue(order[0].field);
    return {
      parts: project(
        readInParts(catalog, tenantId, {
          filter: allOf(filter, withField),
          order,
        }),
        projection,
      ),
    };
  }
  const { entities, hasNextPage } = await readPage(catalog, tenantId, {
    filter,
    order,
    ...page,
  });
  return {
    parts: project(entities, projection),
    nextPage: hasNextPage ? stringifyNextPage(page) : undefined,
  };
}

/**
 * Reads a page of entities, and whether there is another one, which has to be known
 * before the first entity is sent.
 */
async function readPage(
  catalog: ReadableCatalogStore,
  tenantId: string,
  query: QueryEntities,
): Promise<{ entities: AsyncIterable<Entity[]>; hasNextPage: boolean }> {
  const { limit, offset = 0 } = query;
  if (limit === undefined) {
    return {
      entities: readInParts(catalog, tenantId, query),
      hasNextPage: false,
    };
  }
  if (limit >= PART_SIZE) {
    const [next] = await catalog.queryEntities(tenantId, {
      ...query,
      limit: 1,
      offset: offset + limit,
    });
    return {
      entities: readInParts(catalog, tenantId, query),
      hasNextPage: next !== undefined,
    };
  }
  const read = await catalog.queryEntities(tenantId, {
    ...query,
    limit: limit + 1,
  });
  return {
    entities: onePart(read.slice(0, limit)),
    hasNextPage: read.length > limit,
  };
}

async function* onePart(entities: Entity[]): AsyncGenerator<Entity[]> {
  if (entities.length > 0) {
    yield entities;
  }
}

async function* project(
  parts: AsyncIterable<Entity[]>,
  projection: Projection | undefined,
): AsyncGenerator<object[]> {
  for await (const part of parts) {
    yield projection ? part.map(projection) : part;
  }
}
