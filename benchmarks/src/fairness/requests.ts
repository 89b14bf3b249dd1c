import { type CatalogRequest, get, post } from '../harness/CatalogServer';
import { createEntity } from '../harness/entities';

/** How many different requests there are of a kind: no two at a time are equal. */
const VARIANTS = 350;

// Prime, and so without a common divisor with what is chosen from.
const STRIDE = 7_919;

const PAGE = 20;
const REFS = 20;

/** What people and plugins read of a small catalog, in the shares in which they do. */
export function quietReads(entities: number): CatalogRequest[] {
  const kinds: Array<{
    weight: number;
    create(index: number): CatalogRequest;
  }> = [
    {
      weight: 30,
      create: index => {
        const { kind, metadata } = createEntity(index % entities).entity;
        const { namespace, name } = metadata;
        return get(`/entities/by-name/${kind}/${namespace}/${name}`);
      },
    },
    {
      weight: 10,
      create: index => {
        const entityRefs = Array.from(
          { length: REFS },
          (_, number) => createEntity((index + number) % entities).ref,
        );
        return post('/entities/by-refs', { entityRefs });
      },
    },
    {
      weight: 10,
      create: () =>
        get('/entities/by-query', {
          limit: PAGE,
          filter: 'kind=component',
          orderField: 'metadata.name,asc',
        }),
    },
    {
      weight: 8,
      create: index =>
        get('/entities', { limit: 100, offset: index % entities }),
    },
    {
      weight: 8,
      create: () =>
        get('/entity-facets', {
          facet: ['kind', 'spec.type', 'metadata.tags'],
        }),
    },
    {
      weight: 4,
      create: index =>
        get('/entities/by-query', {
          limit: PAGE,
          fullTextFilterTerm: ['basket', 'ice', 'order', '-1'][index % 4],
          fullTextFilterFields: 'metadata.name',
          orderField: 'metadata.name,asc',
        }),
    },
  ];
  const shares = kinds.flatMap(kind => Array(kind.weight).fill(kind));
  return variants(index =>
    shares[(index * STRIDE) % shares.length].create(index * STRIDE),
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
