import { createScenarios } from '../catalog/scenarios';
import { type CatalogRequest, get, post } from '../harness/CatalogServer';

/** How many different requests there are of a kind: no two at a time are equal. */
const VARIANTS = 350;

/** Of a kind of the quiet tenant's: a round goes through all kinds. */
const QUIET_VARIANTS = 20;

// Prime, and so without a common divisor with what is chosen from.
const STRIDE = 7_919;

/** What is read of a small catalog: some requests of each kind that `catalog` measures. */
export function quietReads(entities: number): CatalogRequest[] {
  return createScenarios(entities, QUIET_VARIANTS).flatMap(
    ({ requests }) => requests,
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
