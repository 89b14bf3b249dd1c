import { allFacets, longPage, noise, query, type Task } from '../load/requests';

/** A list with `fields`, of all entities unless there is a limit. */
export function listWithFields(limit?: number): Task {
  return {
    weight: 1,
    start: (tenant, random) => [
      () => ({
        ...noise(
          tenant,
          query('/entities', {
            fields: 'kind,metadata.name,metadata.annotations,spec',
            // True of all, and another one each time: equal reads would be sent once.
            filter: ['kind', `metadata.name=nothing-${random.below(1e9)}`],
            ...(limit && { limit }),
          }),
        ),
        what: 'noise: all entities, with fields',
      }),
    ],
  };
}

/** Requests that are heavy in PostgreSQL, in both, and in Node.js. */
export const NOISE = {
  facets: {
    weight: 1,
    start: (tenant, random) => [() => allFacets(tenant, random)],
  },
  'ordered pages': {
    weight: 1,
    start: (tenant, random) => [() => longPage(tenant, random)],
  },
  'full lists, with fields': listWithFields(),
} satisfies Record<string, Task>;

/** One of these kinds. */
export type Noise = keyof typeof NOISE;
