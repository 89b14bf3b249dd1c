import type { Entity } from '@backstage/catalog-model';
import {
  type CatalogRequest,
  type CatalogServer,
  get,
  post,
} from '../harness/CatalogServer';
import {
  createEntities,
  createEntity,
  type GeneratedEntity,
} from '../harness/entities';
import type { Scenario } from '../harness/scenarios';

/** As many entities have one that nothing emits any more. */
const ENTITIES_OF_ORPHAN = 200;

const PAGE = 20;
const BY_NAME = 'metadata.name,asc';
const REFS = 100;

// What design.md promises of counts and facets, and of all else.
const TARGET = 1;
const TARGET_OF_COUNTS = 2;

interface Page {
  items: Entity[];
  totalItems: number;
  pageInfo: { nextCursor?: string };
}

/** Entities of some 36 terms each, some of them orphans. */
export function createBatteryEntities(
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
 * A query of each kind.
 *
 * @param stock - answers with the cursors from which pages go on
 */
export async function createQueries(
  stock: CatalogServer,
  { entities, made }: { entities: number; made: number },
): Promise<Scenario[]> {
  return [
    byRef(made),
    page('first page by name', [byQuery({ orderField: BY_NAME })]),
    page('first page of a kind', [
      byQuery({ orderField: BY_NAME, filter: 'kind=component' }),
    ]),
    page(
      'page by a cursor, halfway',
      await cursorsOf(stock, Math.floor(entities / 2)),
    ),
    count('count of all', {}),
    count('count of a kind', { filter: 'kind=system' }),
    count('count of a kind and type', {
      filter: 'kind=component,spec.type=service',
    }),
    facets('facets of all', {}),
    facets('facets of a kind', { filter: 'kind=system' }),
    page(
      'part of a name, of a kind',
      ['basket', 'gatew', '-17'].map(fullTextFilterTerm =>
        byQuery({
          orderField: BY_NAME,
          filter: 'kind=component',
          fullTextFilterTerm,
        }),
      ),
    ),
    page(
      'part of a name or title',
      ['basket', 'gatew', '-17'].map(fullTextFilterTerm =>
        byQuery({
          orderField: BY_NAME,
          fullTextFilterTerm,
          fullTextFilterFields: 'metadata.name,metadata.title',
        }),
      ),
    ),
    page('one of three, in an order', [
      byQuery({
        orderField: BY_NAME,
        filter: [
          'kind=api,spec.type=grpc',
          'metadata.tags=java',
          'relations.ownedBy=group:default/team-7',
        ],
      }),
    ]),
    page('one of three, of few, in an order', [
      byQuery({
        orderField: BY_NAME,
        filter: ['team-7', 'team-8', 'team-9'].map(
          team => `relations.ownedBy=group:default/${team}`,
        ),
      }),
    ]),
    page('orphans', [
      byQuery({ filter: 'metadata.annotations.backstage.io/orphan=true' }),
    ]),
    page('by a predicate', [
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
    ]),
  ];
}

function byQuery(query: Record<string, string | string[]>): CatalogRequest {
  return get('/entities/by-query', { limit: PAGE, ...query });
}

function byRef(entities: number): Scenario {
  const numbers = Array.from({ length: REFS }, (_, index) =>
    Math.floor((index * entities) / REFS),
  );
  return {
    what: 'by ref',
    target: TARGET,
    requests: numbers.map(number =>
      post('/entities/by-refs', { entityRefs: [createEntity(number).ref] }),
    ),
    countOf: ({ items }: Page) => items.filter(Boolean).length,
    expected: 1,
  };
}

function page(what: string, requests: CatalogRequest[]): Scenario {
  return {
    what,
    target: TARGET,
    requests,
    countOf: ({ items }: Page) => items.length,
  };
}

async function cursorsOf(
  stock: CatalogServer,
  offset: number,
): Promise<CatalogRequest[]> {
  const { pageInfo } = await stock.answer<Page>(
    get('/entities/by-query', { limit: PAGE, orderField: BY_NAME, offset }),
  );
  return [
    get('/entities/by-query', { limit: PAGE, cursor: pageInfo.nextCursor! }),
  ];
}

function count(what: string, query: { filter?: string }): Scenario {
  return {
    what,
    target: TARGET_OF_COUNTS,
    requests: [get('/entities/by-query', { limit: 0, ...query })],
    countOf: ({ totalItems }: Page) => totalItems,
  };
}

function facets(what: string, query: { filter?: string }): Scenario {
  return {
    what,
    target: TARGET_OF_COUNTS,
    requests: [
      get('/entity-facets', {
        facet: ['kind', 'spec.type', 'metadata.tags'],
        ...query,
      }),
    ],
    countOf: (answer: { facets: Record<string, unknown[]> }) =>
      Object.values(answer.facets).flat().length,
  };
}
