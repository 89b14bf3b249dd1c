import type { LoadTenant } from '../LoadTenant';
import type { Exchange, Random, Task } from './Exchange';
import { query } from './paths';

const PAGE = 1_000;
const LETTERS = 'abcdefghijklmnopqrstuvwxyz';

/**
 * The heaviest that a tenant may ask for. Hardly two at a time are equal: those would be
 * read once.
 */
export const NOISE: Task[] = [
  // All of the tenant's entities, in one answer.
  {
    weight: 1,
    start: tenant => [
      () => ({ ...noise(tenant, '/entities'), what: 'noise: all entities' }),
    ],
  },
  {
    weight: 3,
    start: (tenant, random) => [() => longPage(tenant, random)],
  },
  {
    weight: 3,
    start: (tenant, random) => [() => allFacets(tenant, random)],
  },
];

function longPage(tenant: LoadTenant, random: Random): Exchange {
  const path = query('/entities/by-query', {
    limit: PAGE,
    offset: random(PAGE),
    fullTextFilterTerm: letters(random),
    orderField: 'metadata.title,asc',
  });
  return { ...noise(tenant, path), what: `noise: page of up to ${PAGE}` };
}

function allFacets(tenant: LoadTenant, random: Random): Exchange {
  return {
    ...noise(tenant, '/entity-facets'),
    what: 'noise: facets',
    method: 'POST',
    body: {
      facets: ['kind', 'metadata.tags', 'metadata.name', 'spec.owner'],
      // True of all.
      query: { $not: { 'metadata.name': letters(random) } },
    },
  };
}

function noise(tenant: LoadTenant, path: string): Exchange {
  return {
    what: 'noise',
    tenant,
    method: 'GET',
    path: `/api/catalog${path}`,
    // To look at megabytes at once would keep the quiet ones waiting for this process.
    long: true,
    check: () => {},
  };
}

function letters(random: Random): string {
  return Array.from({ length: 2 }, () => LETTERS[random(LETTERS.length)]).join(
    '',
  );
}
