import { parseEntityRef } from '@backstage/catalog-model';
import type { JsonObject, JsonValue } from '@backstage/types';
import type { Random } from '@internal/postgres/testUtils';
import type { EngineCatalog } from './EngineCatalog';
import { someSize } from './generatedEntities';
import {
  get,
  post,
  type Request,
  withQuery,
} from '@internal/catalog-testing/requests';

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

interface Term {
  key: string;
  /** In lower case. */
  value: string | null;
  /** As it is in the entity. */
  original: string | null;
}

const USUAL_KEYS = [
  'kind',
  'metadata.name',
  'metadata.namespace',
  'metadata.title',
  'metadata.uid',
  'metadata.tags',
  'metadata.description',
  'spec.type',
  'spec.owner',
  'spec.lifecycle',
  'spec.size',
  'spec.nothing',
  'relations.ownedBy',
  'relations.dependsOn',
  'metadata.annotations.example.com/count',
  'metadata.annotations.backstage.io/orphan',
];

/** What a generated request may ask for: what is in the catalog, and what is not. */
export class Vocabulary {
  static async read(catalog: EngineCatalog): Promise<Vocabulary> {
    // Of frequent keys no more than of rare ones, and always in the same order.
    const terms = await catalog.query<Term>(
      `select key, value, original_value as original
         from (select *, row_number() over (partition by key
                                            order by md5(value)) as number
                 from (select distinct on (key, value) * from public.search
                        order by key, value, original_value) as terms
              ) as numbered
        where number <= 20 order by key, value`,
    );
    const entities = await catalog.query<{ ref: string; uid: string }>(
      `select entity_ref as ref, entity_id as uid from public.final_entities
        order by entity_ref`,
    );
    return new Vocabulary(terms, entities);
  }

  private constructor(
    private readonly terms: Term[],
    private readonly entities: Array<{ ref: string; uid: string }>,
  ) {}

  term(random: Random): Term {
    return random.pick(this.terms);
  }

  ref(random: Random): string {
    return random.chance(0.9)
      ? random.pick(this.entities).ref
      : random.pick(['component:default/nothing', 'no ref', '', 'a:b/c', ':/']);
  }

  uid(random: Random): string {
    return random.chance(0.9)
      ? random.pick(this.entities).uid
      : random.pick(['x', '7bd6b4a3-0b0c-4f0f-8a67-0d9b3c6c9f11', "'", '%00']);
  }

  /** A key in any case, of those that are often asked for or of any. */
  key(random: Random): string {
    const key = random.chance(0.5)
      ? random.pick(USUAL_KEYS)
      : this.term(random).key;
    return random.chance(0.15) ? anyCase(random, key) : key;
  }

  /** A value that something has at a key, in any case, or at another one. */
  value(random: Random): string {
    const { value, original } = this.term(random);
    const text = original ?? value ?? '';
    return random.chance(0.2) ? anyCase(random, text) : text;
  }

  /** A part of some text. */
  fragment(random: Random): string {
    const text = this.value(random);
    const start = random.below(text.length);
    const part = text.slice(start, start + 1 + random.below(6));
    return random.chance(0.15)
      ? random.pick(['%', '_', `${part}%`, `_${part}`, '\\', `${part}\\`, ' '])
      : part;
  }
}

function anyCase(random: Random, text: string): string {
  return random.chance(0.5) ? text.toUpperCase() : text.toLowerCase();
}

/** The parameters `filter` of a request, if any. */
function filterParameters(
  random: Random,
  words: Vocabulary,
): string[] | undefined {
  if (random.chance(0.3)) {
    return undefined;
  }
  return Array.from({ length: random.pick([1, 1, 1, 2, 3]) }, () =>
    Array.from({ length: random.pick([1, 1, 2, 3]) }, () =>
      condition(random, words),
    ).join(random.pick([',', ', ', ' , ,'])),
  );
}

function condition(random: Random, words: Vocabulary): string {
  // Half of them are of one term, so that they find something.
  const { key, value, original } = words.term(random);
  switch (random.below(10)) {
    case 0:
      return words.key(random);
    case 1:
      return `${words.key(random)}=`;
    case 2:
      return `${words.key(random)}=${words.value(random)}`;
    case 3:
      return `${key}=${value},${key}=${words.value(random)}`;
    case 4:
    case 5:
      return `kind=${random.pick(['component', 'API', 'user', 'Group'])}`;
    case 6:
      return `${key.toUpperCase()} = ${original}`;
    case 7:
      return key;
    default:
      return `${key}=${original}`;
  }
}

/** The predicate of a body; now and then one that has no meaning. */
function predicate(random: Random, words: Vocabulary, depth = 3): JsonObject {
  const inner = () => predicate(random, words, depth - 1);
  const parts = () =>
    Array.from({ length: random.pick([0, 1, 2, 2, 3]) }, () => inner());
  if (depth > 0 && random.chance(0.5)) {
    switch (random.below(3)) {
      case 0:
        return { $all: parts() };
      case 1:
        return { $any: parts() };
      default:
        return { $not: inner() };
    }
  }
  return Object.fromEntries(
    Array.from({ length: random.pick([0, 1, 1, 1, 1, 2]) }, () =>
      fieldFilter(random, words),
    ),
  );
}

function fieldFilter(random: Random, words: Vocabulary): [string, JsonValue] {
  const { key, value, original } = words.term(random);
  switch (random.below(12)) {
    case 0:
      return [words.key(random), { $exists: random.chance(0.5) }];
    case 1:
      return [words.key(random), words.value(random)];
    case 2:
      return [key, { $in: [original ?? 1, words.value(random), true, 7] }];
    case 3:
      return [key, { $in: [] }];
    case 4:
      return [key, { $hasPrefix: (original ?? '').slice(0, random.below(5)) }];
    case 5:
      return [words.key(random), { $hasPrefix: words.fragment(random) }];
    case 6:
      return [key, { $contains: original ?? false }];
    case 7:
      return ['relations', { $contains: relation(random, words) }];
    case 8:
      return ['kind', random.pick(['component', 'API', 'user', 'Group'])];
    case 9:
      return random.chance(0.2)
        ? [words.key(random), nonsense(random)]
        : [key, original ?? ''];
    case 10:
      return random.chance(0.5)
        ? ['spec.size', someSize(random)]
        : ['spec.size', { $in: [someSize(random), someSize(random)] }];
    default:
      return [key.toUpperCase(), value ?? ''];
  }
}

function relation(random: Random, words: Vocabulary): JsonValue {
  const type = random.pick(['ownedBy', 'OWNEDBY', 'dependsOn', 'providesApi']);
  switch (random.below(6)) {
    case 0:
      return { type };
    case 1:
      return {
        type,
        targetRef: { $in: [words.ref(random), words.ref(random)] },
      };
    case 2:
      return { Type: type, TARGETREF: words.ref(random).toUpperCase() };
    case 3:
      return random.pick<JsonValue>([
        { targetRef: 'a:b/c' },
        { type, other: 'x' },
        { type: { $in: ['ownedBy'] } },
        { type, targetRef: { $in: [] } },
        { type, targetRef: { $exists: true } },
        { type, Type: type },
        {},
      ]);
    default:
      return { type, targetRef: words.ref(random) };
  }
}

/** No value of a predicate. */
function nonsense(random: Random): JsonValue {
  return random.pick<JsonValue>([
    null,
    [],
    ['a'],
    {},
    { $foo: 1 },
    { $in: 'a' },
    { $in: [null] },
    { $exists: 'yes' },
    { $hasPrefix: 1 },
    { $contains: null },
    { $contains: { a: 'b' } },
    { $not: { a: 'b' } },
    { a: { b: 'c' } },
  ]);
}

const encode = (value: unknown) =>
  encodeURIComponent(Buffer.from(JSON.stringify(value)).toString('base64'));

const CURSOR = {
  orderFields: [{ field: 'metadata.name', order: 'asc' }],
  isPrevious: false,
  orderFieldValues: ['m', '7bd6b4a3-0b0c-4f0f-8a67-0d9b3c6c9f11'],
  firstSortFieldValues: ['a', '7bd6b4a3-0b0c-4f0f-8a67-0d9b3c6c9f11'],
  totalItems: 7,
};

/** Cursors that no answer has had, among them manipulated ones. */
const CURSORS: unknown[] = [
  null,
  [],
  {},
  'text',
  CURSOR,
  { ...CURSOR, totalItems: undefined },
  { ...CURSOR, totalItems: '7' },
  { ...CURSOR, totalItems: -1.5 },
  { ...CURSOR, isPrevious: true },
  { ...CURSOR, isPrevious: 'yes' },
  { ...CURSOR, firstSortFieldValues: undefined },
  { ...CURSOR, firstSortFieldValues: [null] },
  { ...CURSOR, firstSortFieldValues: 'a' },
  { ...CURSOR, orderFields: [], orderFieldValues: ['8'] },
  { ...CURSOR, orderFields: [], orderFieldValues: ['zzz'] },
  { ...CURSOR, orderFields: [], orderFieldValues: ["' or true --"] },
  { ...CURSOR, orderFields: [], orderFieldValues: [null] },
  { ...CURSOR, orderFields: [], orderFieldValues: [] },
  { ...CURSOR, orderFields: [], orderFieldValues: ['8'], isPrevious: true },
  { ...CURSOR, orderFields: [] },
  { ...CURSOR, orderFields: [{ field: 'metadata.name' }] },
  { ...CURSOR, orderFields: [{ field: '', order: 'asc' }] },
  { ...CURSOR, orderFields: [{ field: 'nothing', order: 'desc' }] },
  { ...CURSOR, orderFields: [{ field: 'kind', order: 'up' }] },
  { ...CURSOR, orderFields: [{ field: 1, order: 'asc' }] },
  { ...CURSOR, orderFields: 'kind' },
  { ...CURSOR, orderFieldValues: ['m'] },
  { ...CURSOR, orderFieldValues: ['m', null] },
  { ...CURSOR, orderFieldValues: ['m', null], isPrevious: true },
  { ...CURSOR, orderFieldValues: [null, 'x'] },
  { ...CURSOR, orderFieldValues: ['m', 'no uuid'] },
  { ...CURSOR, orderFieldValues: ['m', 'x', 'y'] },
  { ...CURSOR, orderFieldValues: [1, 2] },
  { ...CURSOR, query: { kind: 'api' } },
  { ...CURSOR, query: { kind: { $no: 1 } } },
  { ...CURSOR, query: { $all: 'x' } },
  { ...CURSOR, query: 'kind' },
  { ...CURSOR, filter: { key: 'kind', values: ['api'] } },
  { ...CURSOR, filter: { anyOf: [{ key: 'kind', values: ['api', 'user'] }] } },
  { ...CURSOR, filter: { not: { allOf: [] } } },
  { ...CURSOR, filter: { key: 'spec.type' }, query: { kind: 'component' } },
  { ...CURSOR, filter: { key: 1 } },
  { ...CURSOR, fullTextFilter: { term: 'a' } },
  { ...CURSOR, fullTextFilter: { term: 'a', fields: ['kind'] } },
  { ...CURSOR, fullTextFilter: { fields: ['kind'] } },
  { ...CURSOR, orderFieldValues: ['m\u0000', 'x'] },
  { ...CURSOR, orderFieldValues: ['m', 'x\u0000'] },
  { ...CURSOR, orderFields: [{ field: '\u0000', order: 'asc' }] },
  { ...CURSOR, tenantId: 'x', unknown: { a: 1 } },
];

const PAGE_BODIES: unknown[] = [
  [],
  'text',
  { cursor: '' },
  { cursor: 'x' },
  { cursor: 1 },
  { cursor: null },
  { limit: 'x' },
  { limit: null },
  { limit: 1.5 },
  { offset: '1' },
  { offset: 2.5, limit: 2 },
  { orderBy: 'kind' },
  { orderBy: ['kind'] },
  { orderBy: [{}] },
  { orderBy: [{ field: 'kind' }] },
  { orderBy: [{ order: 'asc' }] },
  { orderBy: [{ field: 'kind', order: 'up' }] },
  { orderBy: [{ field: 1, order: 'asc' }] },
  { orderBy: [{ field: '', order: 'asc' }] },
  { orderBy: [], limit: 1 },
  { fullTextFilter: 'a' },
  { fullTextFilter: { term: 1 } },
  { fullTextFilter: { fields: 'kind' } },
  { fullTextFilter: { fields: [1] } },
  { fullTextFilter: { term: 'a', fields: [] } },
  { fullTextFilter: {}, limit: 1 },
  { fields: 'kind' },
  { fields: [1] },
  { fields: ['a[0]'] },
  { fields: [], limit: 1 },
  { totalItems: 'some' },
  { totalItems: 1 },
  { query: 'kind' },
  { query: null },
  { query: [] },
  { query: { kind: null } },
  { query: { $any: {} } },
  { query: { $all: [1] } },
  { query: { $all: [], kind: 'a' } },
  { query: { $not: 'a' } },
  { query: { $foo: [] } },
  { query: { kind: { $exists: 1 } } },
  { query: { kind: { $contains: { a: 'b' } } } },
  { query: { relations: { $contains: { targetRef: 'a' } } } },
  { query: { kind: 'component', 'spec.type': { $in: 'x' } } },
  { unknown: 1, limit: 1 },
  { limit: 'x', offset: 'y' },
];

const FACET_BODIES: unknown[] = [
  {},
  [],
  { facets: [] },
  { facets: [''] },
  { facets: ['', 'kind'] },
  { facets: 'kind' },
  { facets: [1] },
  { facets: null },
  { facets: ['kind'], query: 'a' },
  { facets: ['kind'], query: null },
  { facets: ['kind'], query: { kind: { $in: 1 } } },
  { facets: ['kind', 'kind', 'KIND'] },
  { query: {} },
];

const REFS_BODIES: unknown[] = [
  {},
  [],
  { entityRefs: null },
  { entityRefs: 'a' },
  { entityRefs: [1] },
  { entityRefs: [], fields: 'a' },
  { entityRefs: [], fields: [null] },
  { entityRefs: [], query: 'kind' },
  { entityRefs: [], query: { kind: { $in: 'a' } } },
  { entityRefs: ['a:b/c'], query: { $all: [{ $not: 1 }] } },
  { entityRefs: ['a:b/c'], query: { kind: { $contains: {} } } },
  { entityRefs: ['a:b/c'], fields: ['a[0]'] },
  { entityRefs: ['a:b/c'], unknown: 1 },
];

const QUERIES = [
  '/entities?limit=abc',
  '/entities?limit=0',
  '/entities?limit=-1',
  '/entities?limit=1.5',
  '/entities?limit=1&limit=2',
  '/entities?offset=x',
  '/entities?offset=-1',
  '/entities?after=',
  '/entities?after=x',
  '/entities?filter=',
  '/entities?filter==a',
  '/entities?filter[a]=b',
  '/entities?filter[]=kind=group&limit=5',
  '/entities?order=kind',
  '/entities?order=up:kind',
  '/entities?fields=metadata.tags[0]',
  '/entities?unknown=1',
  '/entities?limit=x&offset=y',
  '/entities?cursor=x',
  '/entities/by-uid/x?unknown=1',
  '/entities/by-name/a/b/c?unknown=1',
  '/entities/by-name/a/b/c/ancestry',
  '/entities/by-name/a/b/c/ancestry?filter=kind',
  '/entities/by-query?limit=abc',
  '/entities/by-query?limit=-1',
  '/entities/by-query?limit=',
  '/entities/by-query?offset=1.5',
  '/entities/by-query?limit=1&limit=2',
  '/entities/by-query?orderField=',
  '/entities/by-query?orderField=kind,up',
  '/entities/by-query?orderField=kind,asc,desc&limit=2',
  '/entities/by-query?orderField=kind,ASC',
  '/entities/by-query?orderField[a]=kind',
  '/entities/by-query?cursor=',
  '/entities/by-query?cursor=x',
  '/entities/by-query?cursor=x&cursor=y',
  '/entities/by-query?cursor=e30=',
  '/entities/by-query?fields=a[0]',
  '/entities/by-query?fields=',
  '/entities/by-query?fields[a]=b',
  '/entities?fields[a]=b',
  '/entities/by-query?fullTextFilterFields[a]=b',
  '/entities/by-query?fields=,,&limit=1',
  '/entities/by-query?filter=',
  '/entities/by-query?filter==a',
  '/entities/by-query?filter=,&limit=1',
  '/entities/by-query?filter[a]=b',
  '/entities/by-query?totalItems=some',
  '/entities/by-query?totalItems=',
  '/entities/by-query?totalItems=include&totalItems=exclude',
  '/entities/by-query?fullTextFilterTerm=',
  '/entities/by-query?fullTextFilterTerm=a&fullTextFilterTerm=b',
  '/entities/by-query?fullTextFilterFields=',
  '/entities/by-query?fullTextFilterTerm=a&fullTextFilterFields=kind&fullTextFilterFields=spec.type&limit=2',
  '/entities/by-query?fullTextFilterTerm=a&fullTextFilterFields=,&limit=2',
  '/entities/by-query?query=kind',
  '/entities/by-query?unknown=1&limit=x',
  '/entity-facets',
  '/entity-facets?facet=',
  '/entity-facets?facet=&facet=',
  '/entity-facets?facet=kind&facet=',
  '/entity-facets?facet[a]=b',
  '/entity-facets?facet=kind&filter=',
  '/entity-facets?facet=kind&filter==x',
  '/entity-facets?facet=kind&limit=5',
  '/entity-facets?filter=kind=api',
  // What PostgreSQL cannot store.
  '/entities?filter=kind=%00',
  '/entities?limit=5&order=asc:%00',
  '/entities/by-query?filter=%00=a',
  '/entities/by-query?orderField=%00,asc',
  '/entities/by-query?fullTextFilterTerm=a%00b',
  '/entities/by-query?fullTextFilterTerm=a&fullTextFilterFields=a%00b',
  '/entity-facets?facet=%00',
  '/entities/by-uid/%00',
  '/entities/by-name/a/b/%00',
  '/entities/by-name/a/b/%00/ancestry',
];

/** Requests that ask for nothing that has a meaning, of each kind. */
export function malformedRequests(): Request[] {
  return [
    ...QUERIES.map(get),
    ...CURSORS.map(cursor =>
      get(`/entities/by-query?limit=3&cursor=${encode(cursor)}`),
    ),
    ...CURSORS.map(cursor =>
      post('/entities/by-query', {
        limit: 3,
        cursor: Buffer.from(JSON.stringify(cursor)).toString('base64'),
      }),
    ),
    ...PAGE_BODIES.map(body => post('/entities/by-query', body)),
    ...FACET_BODIES.map(body => post('/entity-facets', body)),
    ...REFS_BODIES.map(body => post('/entities/by-refs', body)),
    post('/entities/by-refs', { entityRefs: ['a:b/\u0000'] }),
    post('/entities/by-query', { query: { kind: { $hasPrefix: '\u0000' } } }),
    post('/entities/by-query?limit=1', {}),
    post('/entity-facets?facet=kind', { facets: ['kind'] }),
    post('/entities/by-refs?fields=kind', { entityRefs: [] }),
    post('/entities/by-refs?filter=', { entityRefs: [] }),
    post('/entities/by-refs?filter==', { entityRefs: ['a:b/c'] }),
  ];
}
