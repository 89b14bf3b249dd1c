import {
  type CatalogRequest,
  get,
  pathByName,
  post,
} from '../harness/CatalogServer';
import { createEntity } from '../harness/entities';

/** How many different requests there are of a kind: no two at a time are equal. */
const VARIANTS = 350;

// Prime, and so without a common divisor with what is chosen from.
const STRIDE = 7_919;

type Create = (index: number) => CatalogRequest;

const PAGE = 20;
const REFS = 20;

/** What people and plugins read of a small catalog, in the shares in which they do. */
export function quietReads(entities: number): CatalogRequest[] {
  const entityOf = (index: number) => createEntity(index % entities);
  const ordered = { limit: PAGE, orderField: 'metadata.name,asc' };
  const kinds: Array<[weight: number, create: Create]> = [
    [30, index => get(pathByName(entityOf(index).entity))],
    [
      10,
      index => {
        const numbers = Array.from({ length: REFS }, (_, each) => index + each);
        const entityRefs = numbers.map(number => entityOf(number).ref);
        return post('/entities/by-refs', { entityRefs });
      },
    ],
    [
      10,
      () => get('/entities/by-query', { ...ordered, filter: 'kind=component' }),
    ],
    [8, index => get('/entities', { limit: 100, offset: index % entities })],
    [
      8,
      () =>
        get('/entity-facets', {
          facet: ['kind', 'spec.type', 'metadata.tags'],
        }),
    ],
    [
      4,
      index =>
        get('/entities/by-query', {
          ...ordered,
          fullTextFilterTerm: ['basket', 'ice', 'order', '-1'][index % 4],
          fullTextFilterFields: 'metadata.name',
        }),
    ],
  ];
  const shares = kinds.flatMap(([weight, create]) =>
    Array<Create>(weight).fill(create),
  );
  return variants(index =>
    shares[(index * STRIDE) % shares.length](index * STRIDE),
  );
}

/** Requests that are heavy in PostgreSQL, in both, and in Node.js. */
export const NOISE = {
  facets: variants(index =>
    post('/entity-facets', {
      facets: ['kind', 'metadata.tags', 'metadata.name', 'spec.owner'],
      // True of all.
      query: { $not: { 'metadata.name': lettersOf(index) } },
    }),
  ),
  'ordered pages': variants(index =>
    get('/entities/by-query', {
      limit: 1_000,
      offset: (index * STRIDE) % 1_000,
      fullTextFilterTerm: lettersOf(index),
      orderField: 'metadata.title,asc',
    }),
  ),
  'full lists, with fields': variants(index =>
    get('/entities', {
      fields: 'kind,metadata.name,metadata.annotations,spec',
      // True of all.
      filter: ['kind', `metadata.name=nothing-${index}`],
    }),
  ),
} satisfies Record<string, CatalogRequest[]>;

function variants(create: (index: number) => CatalogRequest): CatalogRequest[] {
  return Array.from({ length: VARIANTS }, (_, index) => create(index));
}

function lettersOf(index: number): string {
  const letters = 'abcdefghijklmnopqrstuvwxyz';
  return letters[index % 26] + letters[Math.floor(index / 26) % 26];
}
