import type { Entity } from '@backstage/catalog-model';
import { isDeepStrictEqual } from 'node:util';
import type { BenchmarkContext } from '../harness/Benchmark';
import type { Contestant } from '../harness/comparison';
import { createEntity } from '../harness/entities';
import { LoadGenerator, type LoadRequest } from '../harness/load';
import { SERVICE_TOKEN, ServerProcess, tokenOfGuest } from '../harness/servers';
import type { CatalogBackendSettings } from './backend';

/** The route that does nothing. */
export const NOTHING_PATH = '/benchmark/nothing';

/** Who asks. What users may read, the permission backend is asked for each request. */
export type Caller = 'service' | 'user';

/** What is sent to a catalog, addressed within its plugin. */
interface CatalogRequest extends LoadRequest {
  /** A service by default. */
  caller?: Caller;
}

/** A request, with the length of the answer that was found to be right. */
interface CheckedRequest extends LoadRequest {
  answerBytes: number;
}

/** A backend with a catalog, in a process of its own, and the load on it. */
export class CatalogServer {
  readonly name: string;
  readonly #server: ServerProcess;
  readonly #load: LoadGenerator;
  readonly #tokens: Record<Caller, string>;
  readonly #tenant: string | undefined;

  /** @param options.tenant - whose catalog is asked for; none for a stock backend */
  static async start(options: {
    name: string;
    database: string;
    context: BenchmarkContext;
    tenant?: string;
    /** Whether only members may ask for the catalog of a tenant: by default. */
    membership?: 'required' | 'open';
  }): Promise<CatalogServer> {
    const { name, database, context, tenant } = options;
    const { membership = 'required' } = options;
    const settings: CatalogBackendSettings = {
      connection: { ...context.connection, database },
      withTenants: tenant !== undefined,
      membership,
      nothingPath: NOTHING_PATH,
    };
    const server = await ServerProcess.start(
      require.resolve('./backend'),
      settings,
    );
    return new CatalogServer({
      name,
      server,
      load: new LoadGenerator({
        url: server.url,
        concurrency: context.settings.concurrency,
      }),
      tokens: {
        service: SERVICE_TOKEN,
        user: await tokenOfGuest(server.url),
      },
      tenant,
    });
  }

  private constructor(options: {
    name: string;
    server: ServerProcess;
    load: LoadGenerator;
    tokens: Record<Caller, string>;
    tenant: string | undefined;
  }) {
    this.name = options.name;
    this.#server = options.server;
    this.#load = options.load;
    this.#tokens = options.tokens;
    this.#tenant = options.tenant;
  }

  /** Of the process of the backend. */
  get pid(): number {
    return this.#server.pid;
  }

  /**
   * Makes the server a contestant in answering some requests, each as often as the
   * others, and each with an answer of the same length as it has now.
   */
  async answering(
    requests: CatalogRequest[],
    name = this.name,
  ): Promise<Contestant> {
    const checked: CheckedRequest[] = [];
    for (const request of requests) {
      const complete = this.#complete(request);
      const answer = await this.#load.send(complete);
      checked.push({ ...complete, answerBytes: Buffer.byteLength(answer) });
    }
    return {
      name,
      measure: seconds => {
        let next = 0;
        return this.#load.run(seconds, () => checked[next++ % checked.length]);
      },
    };
  }

  /** Sends one request, and returns the parsed answer. */
  async send<T>(request: CatalogRequest): Promise<T> {
    return JSON.parse(await this.#load.send(this.#complete(request)));
  }

  async stop(): Promise<void> {
    await this.#load.close();
    await this.#server.stop();
  }

  #complete({
    path,
    headers,
    caller = 'service',
    ...rest
  }: CatalogRequest): LoadRequest {
    return {
      ...rest,
      path: `/api/catalog${path}`,
      headers: {
        ...headers,
        authorization: `Bearer ${this.#tokens[caller]}`,
        ...(this.#tenant && { 'x-tenant-slug': this.#tenant }),
      },
    };
  }
}

/**
 * Makes sure that all servers do the same work: they must answer the same to each
 * request, with as many items as were asked for.
 *
 * @throws Error that names the server that answers otherwise
 */
export async function assertSameAnswers(
  servers: CatalogServer[],
  { what, requests, countOf, expected }: Scenario,
): Promise<void> {
  const [reference, ...others] = servers;
  for (const request of requests) {
    const answer = await reference.send<unknown>(request);
    const count = countOf(answer);
    if (count === 0 || (expected !== undefined && count !== expected)) {
      throw new Error(
        `${what}: ${count} items, ${expected ?? 'some'} expected`,
      );
    }
    for (const server of others) {
      const other = await server.send<unknown>(request);
      if (!isDeepStrictEqual(other, answer)) {
        throw new Error(
          `${what}: "${server.name}" and "${reference.name}" answer ` +
            `${request.path} differently: ${excerpt(other)}, ${excerpt(
              answer,
            )}`,
        );
      }
    }
  }
}

function excerpt(answer: unknown): string {
  return JSON.stringify(answer).slice(0, 500);
}

/** Some requests of a kind, and how many items the answer to each must have. */
export interface Scenario {
  what: string;
  /** What our throughput is to be at least, in that of the stock catalog. */
  target?: number;
  /** Sent in turn. Ours may read once for equal ones at the same time. */
  requests: CatalogRequest[];
  /** How many items an answer has, of those that it is asked for. */
  countOf(answer: unknown): number;
  /** How many there must be. At least one, where nothing is said. */
  expected?: number;
}

interface Page {
  items: Entity[];
  totalItems: number;
  pageInfo: { nextCursor?: string };
}

/** Different requests for pages of many kinds, so that hardly two at a time are equal. */
const MANY = 40;

const TARGET = 2;
// A route that does nothing is not twice as fast.
const TARGET_BY_NAME = 1;
const REFS = 50;
const LIST_LIMIT = 100;
const PAGE_LIMIT = 20;
const WALK_LIMIT = 1_000;

/**
 * What is asked for.
 *
 * @param variants - how many different requests there are at most of a kind
 */
export async function createScenarios(
  server: CatalogServer,
  entities: number,
  variants: number,
): Promise<Scenario[]> {
  const many = Math.min(MANY, variants);
  const numbers = Array.from({ length: variants }, (_, index) =>
    Math.floor((index * entities) / variants),
  );
  const byName = (what: string, caller: Caller): Scenario => ({
    what,
    target: TARGET_BY_NAME,
    requests: numbers.map(number => ({
      ...get(pathOf(createEntity(number).entity)),
      caller,
    })),
    countOf: answer => ('metadata' in (answer as object) ? 1 : 0),
    expected: 1,
  });
  const refs = (first: number) =>
    Array.from(
      { length: REFS },
      (_, index) => createEntity((first + index * 7919) % entities).ref,
    );
  return [
    byName('by name', 'service'),
    byName('by name, as a user', 'user'),
    {
      what: `by refs, ${REFS} of them`,
      requests: numbers.map(number =>
        post('/entities/by-refs', { entityRefs: refs(number) }),
      ),
      countOf: answer =>
        (answer as { items: unknown[] }).items.filter(Boolean).length,
      expected: REFS,
    },
    {
      what: `list of ${LIST_LIMIT}`,
      target: TARGET,
      requests: Array.from({ length: many }, (_, index) =>
        get('/entities', {
          limit: LIST_LIMIT,
          offset: Math.floor((index / many) * (entities - LIST_LIMIT)),
        }),
      ),
      countOf: answer => (answer as unknown[]).length,
      expected: LIST_LIMIT,
    },
    {
      what: `first page of ${PAGE_LIMIT}`,
      target: TARGET,
      requests: [get('/entities/by-query', { limit: PAGE_LIMIT })],
      ...pageOf(PAGE_LIMIT),
    },
    ...filters(many),
    ...facets(),
    {
      what: 'full text, in the order of names',
      requests: ['basket', 'ice', '-17'].map(term =>
        get('/entities/by-query', {
          limit: PAGE_LIMIT,
          fullTextFilterTerm: term,
          orderField: 'metadata.name,asc',
        }),
      ),
      countOf: countOfPage,
    },
    {
      what: 'page in the middle, by a cursor',
      requests: [
        get('/entities/by-query', {
          limit: PAGE_LIMIT,
          cursor: await cursorInTheMiddle(server, entities),
        }),
      ],
      ...pageOf(PAGE_LIMIT),
    },
  ];
}

/** Lists as the page of the catalog asks for them, by several filters. */
function filters(many: number): Scenario[] {
  const filter = (what: string, ...values: string[]): Scenario => ({
    what: `filter: ${what}`,
    target: TARGET,
    requests: values.map(value =>
      get('/entities/by-query', {
        limit: PAGE_LIMIT,
        filter: value,
        orderField: 'metadata.name,asc',
      }),
    ),
    ...{ countOf: countOfPage },
  });
  return [
    filter('kind and type', 'kind=component,spec.type=service'),
    filter('a tag', 'metadata.tags.java', 'metadata.tags.go'),
    filter(
      'an owner',
      ...Array.from(
        { length: many },
        (_, team) => `relations.ownedBy=group:default/team-${team}`,
      ),
    ),
  ];
}

function facets(): Scenario[] {
  const countOf = (answer: unknown) =>
    Object.values((answer as { facets: Record<string, unknown[]> }).facets)
      .map(values => values.length)
      .reduce((sum, count) => sum + count);
  const facet = ['kind', 'spec.type', 'metadata.tags'];
  return [
    {
      what: 'facets',
      target: TARGET,
      requests: [get('/entity-facets', { facet })],
      countOf,
    },
    {
      what: 'facets of a kind',
      target: TARGET,
      requests: [get('/entity-facets', { facet, filter: 'kind=component' })],
      countOf,
    },
  ];
}

async function cursorInTheMiddle(
  server: CatalogServer,
  entities: number,
): Promise<string> {
  let parameters: Record<string, string> = { orderField: 'metadata.name,asc' };
  for (let seen = 0; ; seen += WALK_LIMIT) {
    const limit = Math.min(WALK_LIMIT, Math.ceil(entities / 4));
    const { pageInfo } = await server.send<Page>(
      get('/entities/by-query', { limit, ...parameters }),
    );
    const cursor = pageInfo.nextCursor;
    if (!cursor) {
      throw new Error(`The list ended before its middle, after ${seen}`);
    }
    if (seen + limit >= entities / 2) {
      return cursor;
    }
    parameters = { cursor };
  }
}

function pageOf(expected: number) {
  return { countOf: countOfPage, expected };
}

function countOfPage(answer: unknown): number {
  return (answer as Page).items.length;
}

function pathOf({ kind, metadata }: Entity): string {
  return `/entities/by-name/${kind}/${metadata.namespace}/${metadata.name}`;
}

function get(
  path: string,
  parameters: Record<string, string | number | string[]> = {},
): CatalogRequest {
  const query = new URLSearchParams(
    Object.entries(parameters).flatMap(([name, value]) =>
      [value].flat().map(each => [name, String(each)]),
    ),
  ).toString();
  return { method: 'GET', path: query ? `${path}?${query}` : path };
}

function post(path: string, body: object): CatalogRequest {
  return {
    method: 'POST',
    path,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  };
}
