import type { Random } from '@internal/postgres';
import { type Entity, stringifyEntityRef } from '@backstage/catalog-model';
import type { MutationResult } from 'backstage-plugin-catalog-tenancy-node';
import { createEntity } from '../harness/entities';

// All tenants have entities of the same names, so that what comes from another one
// is not told by its name. What tells it is a mark that each entity carries.

/** The annotation that names the tenant of an entity. */
export const MARK = 'example.com/tenant';

/** The annotation that tells which mutation wrote an entity. */
const REVISION = 'example.com/revision';

/** The namespace of what is changed by mutations. */
const CHANGING_NAMESPACE = 'changing';

/** How many entities each mutation changes; it moves one more. */
export const CHANGING = 5;

/** Finds all marks in a text. */
const MARKS = /mark-of-([a-z0-9-]+)/g;

/** The refs of the entities that are there after each mutation. */
const CHANGING_REFS: string[] = Array.from(
  { length: CHANGING },
  (_, index) => `resource:${CHANGING_NAMESPACE}/changing-${index}`,
);

/** A request, and what its answer must be. */
export interface Exchange {
  /** The kind of request, by which times are told. */
  what: string;
  /** Whose request it is, and of whom alone the answer may tell. */
  tenant: LoadTenant;
  method: 'GET' | 'POST';
  path: string;
  body?: object;
  /** The answer is long, and looked at in pieces, for other tenants alone. */
  long?: boolean;
  /** The status of the right answer; 200 where nothing is said. */
  status?: number;
  /**
   * Looks at the body of an answer, which is known to tell of no other tenant.
   *
   * @throws Error that says what is wrong with it
   */
  check(answer: string): void;
}

/** One of several requests in turn, made once the one before is answered. */
export type Step = () => Exchange;

/** What a client does, which may take several requests. */
export interface Task {
  /** How often it is done, compared with others. */
  weight: number;
  /** Made anew each time. */
  start(tenant: LoadTenant, random: Random): Step[];
}

/** What `by-query` answers. */
export interface Page {
  items: Entity[];
  totalItems: number;
  pageInfo: { nextCursor?: string };
}

const REFS = 15;
const PAGE = 20;
const LIST = 100;
const KIND = 'Component';
const WORDS = ['basket', 'ice', 'order', 'mark-of', '-1'];

/** What people and plugins read of a catalog, and how often. */
export const READS: Task[] = [
  { weight: 30, start: (tenant, random) => [() => byName(tenant, random)] },
  { weight: 10, start: (tenant, random) => [() => byRefs(tenant, random)] },
  { weight: 10, start: pages },
  { weight: 10, start: tenant => [() => whatChanges(tenant)] },
  { weight: 8, start: (tenant, random) => [() => list(tenant, random)] },
  { weight: 8, start: tenant => [() => facets(tenant)] },
  { weight: 4, start: (tenant, random) => [() => fullText(tenant, random)] },
];

function byName(tenant: LoadTenant, random: Random): Exchange {
  const { entity, ref } = createEntity(random.below(tenant.stable));
  const { namespace, name } = entity.metadata;
  return {
    what: 'by name',
    tenant,
    method: 'GET',
    path: `/api/catalog/entities/by-name/${entity.kind}/${namespace}/${name}`,
    check(answer) {
      const found = parse<Entity>(answer);
      assertEntitiesOf(tenant, [found], 1);
      assertRefs([found], [ref]);
    },
  };
}

/** Some that never change, all that do, and one that is not there. */
function byRefs(tenant: LoadTenant, random: Random): Exchange {
  const stable = Array.from(
    { length: REFS },
    () => createEntity(random.below(tenant.stable)).ref,
  );
  const refs = [...stable, ...CHANGING_REFS];
  const visible = tenant.visible();
  return {
    what: `by refs, ${refs.length} of them`,
    tenant,
    method: 'POST',
    path: '/api/catalog/entities/by-refs',
    body: { entityRefs: [...refs, 'component:default/nowhere'] },
    check(answer) {
      const { items } = parse<{ items: Array<Entity | null> }>(answer);
      const found = items.flatMap(item => item ?? []);
      assertEqual('the missing one', String(items.at(-1)), 'null');
      assertEntitiesOf(tenant, found, refs.length);
      assertRefs(found, refs);
      assertOneRevision(tenant, found.slice(stable.length), visible);
    },
  };
}

/** A page by filter and order, and the next one by its cursor. */
function pages(tenant: LoadTenant) {
  const total = tenant.countOf(KIND);
  let cursor = '';
  const checkPage = (answer: string, seen: number) => {
    const { items, totalItems, pageInfo } = parse<Page>(answer);
    const left = Math.max(0, Math.min(PAGE, total - seen));
    assertEqual(`total of ${tenant.slug}`, totalItems, total);
    assertEntitiesOf(tenant, items, left);
    cursor = pageInfo.nextCursor ?? '';
  };
  return [
    (): Exchange => ({
      what: `page of ${PAGE}, filter and order`,
      tenant,
      method: 'GET',
      path: query('/api/catalog/entities/by-query', {
        limit: PAGE,
        filter: `kind=${KIND}`,
        orderField: 'metadata.name,asc',
      }),
      check: answer => checkPage(answer, 0),
    }),
    ...(total > PAGE
      ? [
          (): Exchange => ({
            what: 'next page, by its cursor',
            tenant,
            method: 'GET',
            path: query('/api/catalog/entities/by-query', {
              limit: PAGE,
              cursor,
            }),
            check: answer => checkPage(answer, PAGE),
          }),
        ]
      : []),
  ];
}

/** All of what one mutation wrote, and nothing of another one. */
export function whatChanges(
  tenant: LoadTenant,
  what = 'list of what changes',
): Exchange {
  const visible = tenant.visible();
  return {
    what,
    tenant,
    method: 'GET',
    path: query('/api/catalog/entities', {
      filter: `metadata.namespace=${CHANGING_NAMESPACE}`,
    }),
    check(answer) {
      const items = parse<Entity[]>(answer);
      assertEntitiesOf(tenant, items, CHANGING + 1);
      assertOneRevision(tenant, items, visible);
    },
  };
}

function list(tenant: LoadTenant, random: Random): Exchange {
  const offset = random.below(tenant.total);
  return {
    what: `list of up to ${LIST}`,
    tenant,
    method: 'GET',
    path: query('/api/catalog/entities', { limit: LIST, offset }),
    check(answer) {
      const items = parse<Entity[]>(answer);
      assertEntitiesOf(tenant, items, Math.min(LIST, tenant.total - offset));
    },
  };
}

function facets(tenant: LoadTenant): Exchange {
  const mark = `metadata.annotations.${MARK}`;
  return {
    what: 'facets',
    tenant,
    method: 'GET',
    path: query('/api/catalog/entity-facets', {
      facet: ['kind', 'spec.type', 'metadata.tags', mark],
    }),
    check(answer) {
      const { facets: found } = parse<{
        facets: Record<string, Array<{ value: string; count: number }>>;
      }>(answer);
      assertEqual(
        `facets of ${tenant.slug}`,
        JSON.stringify(found[mark]),
        JSON.stringify([{ value: tenant.mark, count: tenant.total }]),
      );
      assertEqual(
        `kinds of ${tenant.slug}`,
        found.kind.reduce<number>((sum, { count }) => sum + count, 0),
        tenant.total,
      );
    },
  };
}

function fullText(tenant: LoadTenant, random: Random): Exchange {
  return {
    what: 'full text',
    tenant,
    method: 'GET',
    path: query('/api/catalog/entities/by-query', {
      limit: PAGE,
      fullTextFilterTerm: WORDS[random.below(WORDS.length)],
      fullTextFilterFields: `metadata.name,metadata.annotations.${MARK}`,
      orderField: 'metadata.name,asc',
    }),
    check(answer) {
      const { items, totalItems } = parse<Page>(answer);
      assertEntitiesOf(tenant, items, Math.min(PAGE, totalItems));
    },
  };
}

/** Of all mutations: who emits an entity may change it. */
export const SOURCE = 'load';

/**
 * What an entity provider of a tenant does. One client of a tenant may have it. After a
 * change that was refused, or answered wrongly, it does nothing any more.
 */
export const MUTATION: Task = {
  weight: 16,
  start: tenant => (tenant.isChanging ? [] : [() => mutation(tenant)]),
};

/** Fills a tenant with what it has to begin with. */
export function filling(
  tenant: LoadTenant,
  entities: Entity[] = tenant.initialEntities(),
  what = 'first mutation of a new tenant',
): Exchange {
  return {
    what,
    tenant,
    method: 'POST',
    path: `/api/benchmark/mutations/${tenant.slug}`,
    body: { type: 'delta', source: SOURCE, added: entities, removed: [] },
    check(answer) {
      const { inserted } = parse<MutationResult>(answer);
      assertEqual('inserted', inserted, entities.length);
    },
  };
}

export function creation(tenant: LoadTenant): Exchange {
  const { slug } = tenant;
  return {
    what: 'create a tenant',
    tenant,
    method: 'POST',
    path: '/api/tenants',
    body: { tenant_slug: slug, tenant_name: `Tenant ${slug}` },
    status: 201,
    check(answer) {
      const created = parse<{ tenant_slug: string }>(answer);
      assertEqual('slug', created.tenant_slug, slug);
    },
  };
}

function mutation(tenant: LoadTenant): Exchange {
  const { revision, added, removed } = tenant.beginChange();
  return {
    what: `mutation of ${CHANGING + 2} entities`,
    tenant,
    method: 'POST',
    path: `/api/benchmark/mutations/${tenant.slug}`,
    body: {
      type: 'delta',
      source: SOURCE,
      added,
      removed: [{ entityRef: removed }],
    },
    check(answer) {
      const { inserted, updated, deleted } = parse<MutationResult>(answer);
      assertEqual(
        'inserted, updated and deleted',
        [inserted, updated, deleted].join(', '),
        [1, CHANGING, 1].join(', '),
      );
      tenant.acknowledge(revision);
    },
  };
}

const NOISE_PAGE = 1_000;
const LETTERS = [...'abcdefghijklmnopqrstuvwxyz'];

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

/** A long page that is ordered, of what holds some letters. */
export function longPage(tenant: LoadTenant, random: Random): Exchange {
  const path = query('/entities/by-query', {
    limit: NOISE_PAGE,
    offset: random.below(NOISE_PAGE),
    fullTextFilterTerm: letters(random),
    orderField: 'metadata.title,asc',
  });
  return { ...noise(tenant, path), what: `noise: page of up to ${NOISE_PAGE}` };
}

/** Values of all entities. */
export function allFacets(tenant: LoadTenant, random: Random): Exchange {
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

/** A heavy request, of which only the length and the tenant matter. */
export function noise(tenant: LoadTenant, path: string): Exchange {
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
  return Array.from({ length: 2 }, () => random.pick(LETTERS)).join('');
}

/** A path with parameters, some of which may be there several times. */
export function query(
  path: string,
  parameters: Record<string, string | number | string[]>,
): string {
  const pairs = Object.entries(parameters).flatMap(([name, value]) =>
    [value].flat().map(each => [name, String(each)]),
  );
  return `${path}?${new URLSearchParams(pairs)}`;
}

/** The content of an answer. */
export function parse<T>(answer: string): T {
  return JSON.parse(answer);
}

/** Which mutations an answer may show. */
interface Revisions {
  /** Acknowledged before the request was sent. */
  oldest: number;
  /** Sent before the answer came. */
  newest(): number;
}

/** A tenant as its clients know it: what it must have, and which changes were made. */
export class LoadTenant {
  readonly slug: string;
  /** How many of its entities never change. */
  readonly stable: number;
  #sent = 0;
  #acknowledged = 0;

  constructor(slug: string, stable: number) {
    this.slug = slug;
    this.stable = stable;
  }

  get mark(): string {
    return markOf(this.slug);
  }

  /** How many entities it has at any time: a mutation adds as many as it removes. */
  get total(): number {
    return this.stable + CHANGING + 1;
  }

  /** Those of its entities that never change and are of a kind. */
  countOf(kind: string): number {
    return [...Array(this.stable).keys()].filter(
      number => createEntity(number).entity.kind === kind,
    ).length;
  }

  /** What it has to begin with. */
  initialEntities(): Entity[] {
    return [
      ...changingEntities(this.slug, 0),
      ...Array.from({ length: this.stable }, (_, number) =>
        stableEntity(this.slug, number),
      ),
    ];
  }

  /** Whether nobody knows, by now or at all, what became of the last change. */
  get isChanging(): boolean {
    return this.#sent !== this.#acknowledged;
  }

  /** The next change. The one before must have been acknowledged. */
  beginChange(): { revision: number; added: Entity[]; removed: string } {
    if (this.isChanging) {
      throw new Error(`A change of ${this.slug} is under way already`);
    }
    this.#sent += 1;
    return {
      revision: this.#sent,
      added: changingEntities(this.slug, this.#sent),
      removed: movingRef(this.#sent - 1),
    };
  }

  /** A change is known to be made: whoever asks from now on must see it. */
  acknowledge(revision: number): void {
    this.#acknowledged = revision;
  }

  /** What a request that is sent now may see. */
  visible(): Revisions {
    return { oldest: this.#acknowledged, newest: () => this.#sent };
  }
}

/** What the entities of a tenant carry. */
export function markOf(slug: string): string {
  return `mark-of-${slug}`;
}

/** An entity that never changes, of a number. */
export function stableEntity(slug: string, number: number): Entity {
  const { entity } = createEntity(number);
  const { uid, etag, ...metadata } = entity.metadata;
  return {
    ...entity,
    metadata: {
      ...metadata,
      annotations: { ...metadata.annotations, [MARK]: markOf(slug) },
    },
  };
}

/** What a mutation changes: all of it carries the number of the mutation. */
export function changingEntities(slug: string, revision: number): Entity[] {
  return [
    ...Array.from({ length: CHANGING }, (_, index) => `changing-${index}`),
    movingName(revision),
  ].map(name => ({
    apiVersion: 'backstage.io/v1alpha1',
    kind: 'Resource',
    metadata: {
      name,
      namespace: CHANGING_NAMESPACE,
      annotations: { [MARK]: markOf(slug), [REVISION]: String(revision) },
    },
    spec: { type: 'queue', owner: 'team-1', lifecycle: 'production' },
    relations: [{ type: 'ownedBy', targetRef: 'group:default/team-1' }],
  }));
}

/** The entity that a mutation adds, and the next one removes. */
export function movingRef(revision: number): string {
  return `resource:${CHANGING_NAMESPACE}/${movingName(revision)}`;
}

function movingName(revision: number): string {
  return `moving-${revision}`;
}

/**
 * Makes sure that a text tells of no tenant but one, wherever in it.
 *
 * @throws Error that names the other tenant
 */
export function assertTellsOnlyOf({ slug }: LoadTenant, text: string): void {
  for (const [, other] of text.matchAll(MARKS)) {
    if (other !== slug) {
      throw new Error(`${slug} was told of ${other}`);
    }
  }
}

/**
 * The same of a text that comes in pieces, so that others have their turn in between.
 *
 * @throws Error that names the other tenant
 */
export async function assertPiecesTellOnlyOf(
  tenant: LoadTenant,
  pieces: AsyncIterable<string>,
): Promise<void> {
  let rest = '';
  for await (const piece of pieces) {
    const text = rest + piece;
    // No mark has one in it: up to there, all are complete.
    const end = text.lastIndexOf('"') + 1;
    assertTellsOnlyOf(tenant, text.slice(0, end));
    rest = text.slice(end);
  }
  assertTellsOnlyOf(tenant, rest);
}

/**
 * Makes sure that entities are those of a tenant, and as many as there must be.
 *
 * @throws Error that says what is wrong
 */
export function assertEntitiesOf(
  { slug, mark }: LoadTenant,
  entities: Entity[],
  expected: number,
): void {
  for (const { metadata } of entities) {
    const found = metadata.annotations?.[MARK];
    if (found !== mark) {
      throw new Error(`${slug} got "${metadata.name}" with the mark ${found}`);
    }
  }
  assertEqual(`entities of ${slug}`, entities.length, expected);
}

/**
 * Makes sure that entities were written by one mutation, neither by one that was
 * overtaken before the request, nor by one that nobody has sent.
 *
 * @throws Error that says what is wrong
 */
export function assertOneRevision(
  { slug }: LoadTenant,
  entities: Entity[],
  { oldest, newest }: Revisions,
): void {
  const found = new Set(
    entities.map(({ metadata }) => Number(metadata.annotations?.[REVISION])),
  );
  const [revision] = found;
  if (found.size !== 1 || !(revision >= oldest && revision <= newest())) {
    throw new Error(
      `${slug} has the changes ${[...found].join(', ')}, where one of ` +
        `${oldest} to ${newest()} is right`,
    );
  }
}

/** @throws Error unless these are the entities with these refs, in their order */
export function assertRefs(entities: Entity[], refs: string[]): void {
  assertEqual(
    'refs',
    entities.map(entity => stringifyEntityRef(entity)).join(' '),
    refs.join(' '),
  );
}

/** @throws Error unless both are the same */
export function assertEqual<T extends string | number>(
  what: string,
  found: T,
  expected: T,
): void {
  if (found !== expected) {
    throw new Error(`${what}: ${found}, where ${expected} is right`);
  }
}
