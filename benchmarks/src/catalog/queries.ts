import type { Entity } from '@backstage/catalog-model';
import {
  type CatalogRequest,
  type CatalogServer,
  get,
  post,
} from '../harness/CatalogServer';
import { createEntities, type GeneratedEntity } from '../harness/entities';
import type { CatalogSize } from '../harness/catalogs';
import type { Scenario } from '../harness/scenarios';
import { byRefs } from './scenarios';

/** As many entities have one that nothing emits any more. */
const ENTITIES_OF_ORPHAN = 200;

const REFS = 100;
const PAGE = 20;
const ORDER = { orderField: 'metadata.name,asc' };

// What design.md promises of counts, and of all else.
const TARGET = 1;
const TARGET_OF_COUNTS = 2;

interface Page {
  items: Entity[];
  totalItems: number;
  pageInfo: { nextCursor?: string };
}

/** Entities of some 36 terms each, some of them orphans. */
export function createCatalogEntities(
  first: number,
  length: number,
): GeneratedEntity[] {
  return createEntities(first, length).map((generated, index) => {
    if ((first + index) % ENTITIES_OF_ORPHAN === 0) {
      generated.entity.metadata.annotations!['backstage.io/orphan'] = 'true';
    }
    return generated;
  });
}

/**
 * A query of each kind that upstream's own battery has, and the scenarios have not.
 *
 * @param stock - answers with the cursor from which a page goes on
 */
export async function createQueries(
  stock: CatalogServer,
  { entities, made = entities }: CatalogSize,
): Promise<Scenario[]> {
  const numbers = Array.from({ length: REFS }, (_, index) =>
    Math.floor((index * made) / REFS),
  );
  const parts = ['basket', 'gatew', '-17'];
  return [
    { ...byRefs(numbers, made, 1), target: TARGET },
    page('first page by name', byQuery(ORDER)),
    page(
      'first page of a kind',
      byQuery({ ...ORDER, filter: 'kind=component' }),
    ),
    page(
      'page by a cursor, halfway',
      await nextPage(stock, Math.floor(entities / 2)),
    ),
    count('count of all', {}),
    count('count of a kind', { filter: 'kind=system' }),
    count('count of a kind and type', {
      filter: 'kind=component,spec.type=service',
    }),
    page(
      'part of a name, of a kind',
      ...parts.map(fullTextFilterTerm =>
        byQuery({ ...ORDER, filter: 'kind=component', fullTextFilterTerm }),
      ),
    ),
    page(
      'part of a name or title',
      ...parts.map(fullTextFilterTerm =>
        byQuery({
          ...ORDER,
          fullTextFilterTerm,
          fullTextFilterFields: 'metadata.name,metadata.title',
        }),
      ),
    ),
    page(
      'one of three, in an order',
      byQuery({
        ...ORDER,
        filter: [
          'kind=api,spec.type=grpc',
          'metadata.tags=java',
          'relations.ownedBy=group:default/team-7',
        ],
      }),
    ),
    page(
      'one of three, of few, in an order',
      byQuery({
        ...ORDER,
        filter: ['team-7', 'team-8', 'team-9'].map(
          team => `relations.ownedBy=group:default/${team}`,
        ),
      }),
    ),
    page(
      'orphans',
      byQuery({ filter: 'metadata.annotations.backstage.io/orphan=true' }),
    ),
    page(
      'by a predicate',
      post('/entities/by-query', {
        limit: PAGE,
        orderBy: [{ field: 'metadata.name', order: 'asc' }],
        query: {
          $all: [
            { kind: 'component' },
            { $not: { 'spec.lifecycle': 'experimental' } },
            { 'spec.type': { $in: ['service', 'website'] } },
          ],
        },
      }),
    ),
  ];
}

function byQuery(query: Record<string, string | string[]>): CatalogRequest {
  return get('/entities/by-query', { limit: PAGE, ...query });
}

function page(what: string, ...requests: CatalogRequest[]): Scenario {
  return {
    what,
    target: TARGET,
    requests,
    countOf: ({ items }: Page) => items.length,
  };
}

async function nextPage(
  stock: CatalogServer,
  offset: number,
): Promise<CatalogRequest> {
  const { pageInfo } = await stock.answer<Page>(
    get('/entities/by-query', { limit: PAGE, ...ORDER, offset }),
  );
  return byQuery({ cursor: pageInfo.nextCursor! });
}

function count(what: string, query: { filter?: string }): Scenario {
  return {
    what,
    target: TARGET_OF_COUNTS,
    requests: [get('/entities/by-query', { limit: 0, ...query })],
    countOf: ({ totalItems }: Page) => totalItems,
  };
}
