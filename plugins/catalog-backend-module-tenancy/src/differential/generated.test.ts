import type { Entity } from '@backstage/catalog-model';
import { createTestDatabases, Random } from '@internal/postgres/testUtils';
import type { FacetCount } from 'backstage-plugin-catalog-tenancy-node';
import { isEqual } from 'lodash';
import {
  type CatalogBackend,
  startCatalogBackend,
} from '@internal/catalog-testing/startCatalogBackend';
import { engineCalls, outcomeOf, readCalls } from './__testUtils__/clientCalls';
import { Comparison } from '@internal/catalog-testing/comparison';
import {
  type EngineCatalog,
  ingestCatalog,
  sizes,
} from './__testUtils__/EngineCatalog';
import { FAILS } from './__testUtils__/generatedEntities';
import {
  generateRequest,
  malformedRequests,
  Vocabulary,
} from './__testUtils__/generatedRequests';
import {
  answersDue,
  MEANT_DIFFERENCES,
} from '@internal/catalog-testing/meantDifferences';
import {
  type Answer,
  get,
  type Request,
  type Send,
  sender,
} from '@internal/catalog-testing/requests';

const databases = createTestDatabases({ versions: 'newest', citus: true });
const [[id]] = databases.eachSupportedId();

const CONTEXT = `CATALOG_DIFFERENTIAL_SEED=${sizes.seed} CATALOG_DIFFERENTIAL_ENTITIES=${sizes.entities}`;

jest.setTimeout(30 * 60_000);

const request = (method: string, path: string): Request => ({ method, path });

/** Requests that lead past the reads of entities, or ask for them by another method. */
const OTHER_REQUESTS = [
  get('/locations'),
  get('/openapi.json'),
  get('/.well-known/backstage/permissions/metadata'),
  get('/ENTITIES?filter=kind=group'),
  get('///entities'),
  get('/entities/by-name/a:b/c%2Fd/e'),
  get('/nothing'),
  request('HEAD', '/entities'),
  request('HEAD', '/entities/by-query'),
  request('PATCH', '/entities'),
];

/** Of an error of the server, each has another. */
const withoutLogId = (answer: object): object =>
  JSON.parse(JSON.stringify(answer).replaceAll(/ logId=\w+/g, ''));

// On one version of PostgreSQL: what is compared is the same on all.
describe('a generated catalog that the stock engine has ingested', () => {
  let catalog: EngineCatalog;
  let backend: CatalogBackend;
  let stock: Send;
  let ours: Send;
  let words: Vocabulary;

  beforeAll(async () => {
    catalog = await ingestCatalog(databases, id, sizes);
    backend = await startCatalogBackend({
      connection: catalog.connection,
      enabled: true,
    });
    stock = sender(catalog.stock);
    ours = sender(backend);
    words = await Vocabulary.read(catalog);
    const { body } = await stock(get('/entities'));
    for (const [slug, entities] of [
      ['acme', body],
      ['globex', body.slice(0, 5)],
    ]) {
      await backend.createTenant(slug, entities.map(withoutIdentity));
    }
    // As autovacuum does in time. For a tenant that its statistics lack, PostgreSQL plans
    // for one row (docs/operators/performance.md).
    await catalog.query(
      'analyze tenancy.entities, tenancy.relations, tenancy.entity_terms',
    );
  });

  it('is all there', async () => {
    const { body } = await ours({ method: 'GET', path: '/entities' });
    expect(body.length).toBeGreaterThan(sizes.entities * 0.9);
    expect(body).toEqual(
      (await stock({ method: 'GET', path: '/entities' })).body,
    );
  });

  it('is answered as by the stock catalog, whatever is asked', async () => {
    const comparison = new Comparison(stock, ours);
    const random = new Random(sizes.seed + 1);
    for (let index = 0; index < sizes.requests; index += 1) {
      await comparison.compare(generateRequest(random, words));
    }
    expect([CONTEXT, comparison.differences]).toEqual([CONTEXT, []]);
    expect(comparison.compared).toBeGreaterThanOrEqual(sizes.requests);
    expect(comparison.found).toBeGreaterThan(comparison.compared / 3);
  });

  it('is refused as by the stock catalog, whatever is malformed', async () => {
    const comparison = new Comparison(stock, ours);
    for (const each of [...malformedRequests(), ...OTHER_REQUESTS]) {
      await comparison.compare(each);
    }
    expect([CONTEXT, comparison.differences]).toEqual([CONTEXT, []]);
  });

  it('is answered with the flag off as if the module were not there', async () => {
    const off = await startCatalogBackend({
      connection: catalog.connection,
      enabled: false,
    });
    const send = sender(off);
    const random = new Random(sizes.seed + 4);
    for (const each of [
      ...Array.from({ length: sizes.requests / 4 }, () =>
        generateRequest(random, words),
      ),
      ...malformedRequests(),
      ...OTHER_REQUESTS,
      request('OPTIONS', '/entities'),
    ]) {
      const expected = withoutLogId({ each, ...(await stock(each)) });
      expect(withoutLogId({ each, ...(await send(each)) })).toEqual(expected);
    }
  });

  it.each(MEANT_DIFFERENCES.filter(({ under }) => under === undefined))(
    'differs by intent: $why',
    async difference => {
      for (const { example, due, without } of await answersDue(
        difference,
        stock,
      )) {
        const actual = { example, ...(await ours(example)) };
        expect(actual).toEqual({ example, ...due });
        expect(actual).not.toEqual({ example, ...without });
      }
    },
  );

  describe('through the client of Backstage', () => {
    const clients = () =>
      [catalog.stock.client('default'), backend.client('default')] as const;
    // Any but those at which only the processors of the stock side fail.
    const anEntity = async (): Promise<Entity> => {
      const { body } = await stock(
        get('/entities/by-query?limit=100&filter=kind=template'),
      );
      const items: Entity[] = body.items;
      return items.find(
        ({ metadata }) => !metadata.annotations?.[FAILS],
      ) as Entity;
    };

    it('has all that the client can do', async () => {
      const entity = await anEntity();
      const client: object = backend.client('default');
      const methods = Object.getOwnPropertyNames(Object.getPrototypeOf(client));
      const called = [
        ...Object.keys(readCalls(entity)),
        ...Object.keys(engineCalls(entity)),
      ];
      expect(methods).toEqual(expect.arrayContaining(called));
      const others = methods.filter(
        name =>
          /^(get|query|stream|add|remove|refresh|validate|analyze)/.test(
            name,
          ) && !called.includes(name),
      );
      // Of its own inside, and the former name of `getEntityByRef`.
      expect(others.sort()).toEqual([
        ...['getEntityByName', 'getEntityFacetsByPredicate', 'getFilterValue'],
        'queryEntitiesByPredicate',
      ]);
    });

    it('reads what it reads from the stock catalog', async () => {
      const [theirs, own] = clients();
      const calls = readCalls(await anEntity());
      for (const [method, ways] of Object.entries(calls)) {
        expect(await outcomeOf(ways[0](theirs))).toHaveProperty('value');
        for (const [index, call] of ways.entries()) {
          const expected = await outcomeOf(call(theirs));
          const actual = await outcomeOf(call(own));
          expect({ method, index, ...Object(actual) }).toEqual({
            method,
            index,
            ...Object(expected),
          });
        }
      }
    });

    it('leads to the engine for the default tenant, and for no other', async () => {
      const [theirs, own] = clients();
      const other = backend.client('acme');
      const calls = engineCalls(await anEntity());
      for (const [method, [call]] of Object.entries(calls)) {
        const expected = await outcomeOf(call(theirs));
        const actual = await outcomeOf(call(own));
        expect({ method, ...Object(actual) }).toEqual({
          method,
          ...Object(expected),
        });
        expect({ method, outcome: await outcomeOf(call(other)) }).toEqual({
          method,
          outcome: expect.objectContaining({
            body: expect.objectContaining({
              error: expect.objectContaining({ name: 'NotAllowedError' }),
            }),
          }),
        });
      }
    });
  });

  describe('in another tenant', () => {
    // The ids and the order by them are the tenant's own, and full text looks into ids
    // where it is not told otherwise.
    const isAboutIds = (each: Request) =>
      /metadata\.(uid|etag)|[0-9a-f]{8}-[0-9a-f]{4}-|fullText|ancestry|by-uid/i.test(
        JSON.stringify(each),
      );

    it('shows its own entities, however many others have the same', async () => {
      const all = new Set(uidsOf(await ours(get('/entities'))));
      const acme = sender(backend, { tenant: 'acme' });
      const globex = sender(backend, { tenant: 'globex' });
      const ownOfAcme = new Set(uidsOf(await acme(get('/entities'))));
      const ownOfGlobex = new Set(uidsOf(await globex(get('/entities'))));
      expect(ownOfAcme.size).toBe(all.size);
      expect(ownOfGlobex.size).toBe(5);
      expect([...ownOfAcme, ...ownOfGlobex].some(uid => all.has(uid))).toBe(
        false,
      );
      const random = new Random(sizes.seed + 2);
      const found: unknown[] = [];
      let compared = 0;
      for (let index = 0; index < sizes.requests / 3; index += 1) {
        const each = generateRequest(random, words);
        const [expected, mine, few] = await Promise.all(
          [ours, acme, globex].map(send => send(each)),
        );
        if (!isAboutIds(each)) {
          const [same, due] = [mine, expected].map(answer =>
            withoutIds(each, answer),
          );
          compared += same.entities.length;
          if (!isEqual(same, due)) {
            found.push({ each, same, due });
          }
        }
        const strange = [
          ...uidsOf(mine).filter(uid => !ownOfAcme.has(uid)),
          ...uidsOf(few).filter(uid => !ownOfGlobex.has(uid)),
        ];
        // What a cursor says of the length of its list was known before.
        const isTold = JSON.stringify(each).includes('cursor');
        const most = Math.max(
          isTold ? 0 : few.body.totalItems ?? 0,
          ...facetCounts(few),
        );
        if (strange.length > 0 || most > ownOfGlobex.size) {
          found.push({ each, strange, most });
        }
      }
      expect([CONTEXT, found]).toEqual([CONTEXT, []]);
      expect(compared).toBeGreaterThan(sizes.entities / 10);
    });
  });
});

function withoutIdentity(entity: Entity): Entity {
  const { uid, etag, ...metadata } = entity.metadata;
  return { ...entity, metadata };
}

/** The entities of an answer, or what it has of them. */
function itemsOf({ status, body }: Answer): any[] {
  return status !== 200 || body.facets
    ? []
    : [body.items ?? body].flat().map(item => item?.entity ?? item);
}

/** The ids of the entities of an answer, as far as it has them. */
function uidsOf(answer: Answer): string[] {
  return itemsOf(answer)
    .map(item => item?.metadata?.uid)
    .filter(Boolean);
}

/** What an answer says to each tenant that has the same entities. */
function withoutIds({ path }: Request, answer: Answer) {
  const { status, body } = answer;
  const { totalItems, facets, error } = body;
  const items = itemsOf(answer);
  // Which of them a page shows is a matter of their ids.
  const isPage =
    /[?&](limit|offset|after|cursor)=/.test(path) ||
    (totalItems !== undefined && totalItems !== items.length);
  return {
    ...{ status, totalItems, facets, error, length: items.length },
    entities: isPage
      ? []
      : items
          .map(item => (item?.metadata ? withoutIdentity(item) : item))
          .map(item => JSON.stringify(item))
          .sort(),
  };
}

function facetCounts({ body }: Answer): number[] {
  const facets: FacetCount[][] = Object.values(body.facets ?? {});
  return facets.flat().map(({ count }) => count);
}
