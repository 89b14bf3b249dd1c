import { parseEntityRef } from '@backstage/catalog-model';
import { malformedRequests } from './malformedRequests';
import { filterParameters, predicate } from './generatedFilters';
import type { Random } from '@internal/postgres/testUtils';
import { get, post, type Request, withQuery } from './Request';
import type { Vocabulary } from './Vocabulary';

/** Any request of the read API. */
export function generateRequest(random: Random, words: Vocabulary): Request {
  const kinds: Array<[number, (r: Random, w: Vocabulary) => Request]> = [
    [30, pageByParameters],
    [25, pageByBody],
    [10, facetsByParameters],
    [8, facetsByBody],
    [8, list],
    [6, listPage],
    [5, byRefs],
    [4, byName],
    [2, byUid],
    [4, ancestry],
    [8, malformed],
  ];
  let choice = random.below(kinds.reduce((sum, [weight]) => sum + weight, 0));
  for (const [weight, generate] of kinds) {
    choice -= weight;
    if (choice < 0) {
      return generate(random, words);
    }
  }
  throw new Error('No kind of request was chosen');
}

function malformed(random: Random): Request {
  return random.pick(malformedRequests());
}

function pageByParameters(random: Random, words: Vocabulary): Request {
  return get(
    withQuery('/entities/by-query', {
      filter: filterParameters(random, words),
      limit: maybe(random, 0.7, () => limit(random)),
      offset: maybe(random, 0.15, () => random.below(40)),
      orderField: orderFields(random, words)?.map(({ field, order }) =>
        [field, order].filter(Boolean).join(','),
      ),
      fields: maybe(random, 0.4, () => fields(random, words).join(',')),
      fullTextFilterTerm: maybe(
        random,
        0.3,
        () => words.fragment(random).trim() || 'a',
      ),
      fullTextFilterFields: maybe(random, 0.2, () =>
        [words.key(random), words.key(random)].join(','),
      ),
      totalItems: maybe(random, 0.1, () => random.pick(['include', 'exclude'])),
    }),
  );
}

function pageByBody(random: Random, words: Vocabulary): Request {
  return post('/entities/by-query', {
    query: maybe(random, 0.8, () => predicate(random, words)),
    limit: maybe(random, 0.7, () => limit(random)),
    offset: maybe(random, 0.15, () => random.below(40)),
    orderBy: orderFields(random, words)?.map(({ field, order = 'asc' }) => ({
      field,
      order,
    })),
    fields: maybe(random, 0.4, () => fields(random, words)),
    fullTextFilter: maybe(random, 0.3, () => ({
      term: maybe(random, 0.95, () => words.fragment(random)),
      fields: maybe(random, 0.4, () =>
        random.some([words.key(random), words.key(random), 'kind'], 3),
      ),
    })),
    totalItems: maybe(random, 0.1, () => random.pick(['include', 'exclude'])),
  });
}

function facetsByParameters(random: Random, words: Vocabulary): Request {
  return get(
    withQuery('/entity-facets', {
      facet: facets(random, words),
      filter: filterParameters(random, words),
    }),
  );
}

function facetsByBody(random: Random, words: Vocabulary): Request {
  return post('/entity-facets', {
    facets: facets(random, words),
    query: maybe(random, 0.7, () => predicate(random, words)),
  });
}

function list(random: Random, words: Vocabulary): Request {
  return get(
    withQuery('/entities', {
      filter: filterParameters(random, words) ?? 'kind=domain',
      order: orderFields(random, words)?.map(
        ({ field, order = 'asc' }) => `${order}:${field}`,
      ),
      fields: maybe(random, 0.5, () => fields(random, words).join(',')),
    }),
  );
}

function listPage(random: Random, words: Vocabulary): Request {
  return get(
    withQuery('/entities', {
      filter: filterParameters(random, words),
      limit: 1 + limit(random),
      offset: maybe(random, 0.4, () => random.below(60)),
      order: orderFields(random, words)?.map(
        ({ field, order = 'asc' }) => `${order}:${field}`,
      ),
      fields: maybe(random, 0.5, () => fields(random, words).join(',')),
    }),
  );
}

function byRefs(random: Random, words: Vocabulary): Request {
  return post(
    withQuery('/entities/by-refs', {
      filter: random.chance(0.3) ? filterParameters(random, words) : undefined,
    }),
    {
      entityRefs: Array.from({ length: random.below(12) }, () =>
        spelledOtherwise(random, words.ref(random)),
      ),
      fields: maybe(random, 0.4, () => fields(random, words)),
      query: maybe(random, 0.3, () => predicate(random, words)),
    },
  );
}

/** Now and then a ref in capitals, or without the default namespace. */
function spelledOtherwise(random: Random, ref: string): string {
  const spelled = random.chance(0.2) ? ref.replace(':default/', ':') : ref;
  return random.chance(0.2) ? spelled.toUpperCase() : spelled;
}

function byName(random: Random, words: Vocabulary): Request {
  return get(pathByName(random, words));
}

function ancestry(random: Random, words: Vocabulary): Request {
  return get(`${pathByName(random, words)}/ancestry`);
}

function byUid(random: Random, words: Vocabulary): Request {
  return get(`/entities/by-uid/${words.uid(random)}`);
}

function pathByName(random: Random, words: Vocabulary): string {
  let ref = 'component:default/nothing';
  try {
    ref = words.ref(random);
    parseEntityRef(ref);
  } catch {
    ref = 'component:default/nothing';
  }
  const { kind, namespace, name } = parseEntityRef(ref);
  const path = [kind, namespace, name].map(encodeURIComponent).join('/');
  return `/entities/by-name/${random.chance(0.2) ? path.toUpperCase() : path}`;
}

function orderFields(
  random: Random,
  words: Vocabulary,
): Array<{ field: string; order?: 'asc' | 'desc' }> | undefined {
  return maybe(random, 0.6, () =>
    Array.from({ length: random.pick([1, 1, 1, 1, 2]) }, () => ({
      field: words.key(random).replaceAll(',', ''),
      order: random.pick(['asc', 'desc', undefined] as const),
    })).filter(({ field }) => field && !field.startsWith('$')),
  );
}

function facets(random: Random, words: Vocabulary): string[] {
  return Array.from({ length: random.pick([1, 1, 2, 3]) }, () =>
    words.key(random),
  );
}

function fields(random: Random, words: Vocabulary): string[] {
  const known = [
    ...['kind', 'metadata', 'metadata.name', 'spec', 'relations', 'status'],
    ...['metadata.annotations.example.com/count', 'metadata.uid', ' kind '],
    ...['metadata.tags', 'metadata.annotations', 'spec.nested', 'kind.length'],
    ...['spec.numbers.7', 'spec.numbers'],
  ];
  return ['kind', 'metadata.name', ...random.some(known, 3)].concat(
    random.chance(0.3) ? words.term(random).key.replaceAll('[', '') : [],
  );
}

function limit(random: Random): number {
  return random.pick([0, 1, 2, 3, 5, 10, 20, 50, 100]);
}

function maybe<T>(
  random: Random,
  probability: number,
  make: () => T,
): T | undefined {
  return random.chance(probability) ? make() : undefined;
}
