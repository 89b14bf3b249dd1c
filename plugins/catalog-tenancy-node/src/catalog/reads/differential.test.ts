import { createTestDatabases } from '@internal/postgres/testUtils';
import type { JsonObject } from '@backstage/types';
import * as fc from 'fast-check';
import { randomUUID } from 'node:crypto';
import { entities, filtersOn } from '../__testUtils__/arbitraries';
import { createCatalogDatabase } from '../__testUtils__/catalogDatabase';
import type { CatalogDatabase } from '../__testUtils__/catalogDatabase';
import { stockEntitySearch } from '../__testUtils__/stockEntitySearch';
import {
  type CompareTexts,
  stockFacets,
  stockPage,
  type StockEntities,
} from '../__testUtils__/stockPage';
import type { EntityPageQuery } from '../CatalogStore';

const SEED = 20260918;
const ENTITIES = 100;
const QUERIES = 150;

describe('pages and facets are what they are in the stock catalog', () => {
  const databases = createTestDatabases({ citus: true });
  const known: JsonObject[] = fc
    .sample(entities, { seed: SEED, numRuns: ENTITIES })
    .map((entity, position) => ({
      ...entity,
      metadata: {
        ...entity.metadata,
        name: `Entity-${position % 40}-${position}`,
        uid: randomUUID(),
      },
    }))
    .map(entity => JSON.parse(JSON.stringify(entity)));
  const idOf = (entity: JsonObject) =>
    String((entity.metadata as JsonObject).uid);
  const stock: StockEntities = new Map(
    known.map(entity => [
      idOf(entity),
      stockEntitySearch(idOf(entity), entity).rows,
    ]),
  );
  const rows = [...stock].flatMap(([entityId, each]) =>
    each.map(({ key, value }) => ({ entityId, key, value })),
  );
  const field = fc.oneof(
    fc.constantFrom('metadata.name', 'Metadata.UID', 'kind', 'metadata.tags'),
    fc.constantFrom(...rows).map(({ key }) => key),
  );
  const part = fc
    .tuple(fc.constantFrom(...rows), fc.nat(3), fc.nat(6))
    .map(([{ value }, from, length]) =>
      [...(value ?? '')].slice(from, from + length).join(''),
    );
  // Each of them leaves most entities out, so that few queries have all.
  const sometimes = <T>(arbitrary: fc.Arbitrary<T>) =>
    fc.oneof(
      { weight: 2, arbitrary: fc.constant(undefined) },
      { weight: 1, arbitrary },
    );
  const queries: fc.Arbitrary<EntityPageQuery> = fc.record({
    filter: sometimes(filtersOn(known)),
    order: fc.option(
      fc.record({
        field,
        order: fc.constantFrom<'asc' | 'desc'>('asc', 'desc'),
      }),
      { nil: undefined },
    ),
    fullText: sometimes(
      fc.record(
        {
          term: fc.oneof(
            part,
            fc.constantFrom('%', '_', 'a_b', 'a\\', '\\', ' Service ', ' '),
          ),
          fields: fc.array(field, { maxLength: 3 }),
        },
        { requiredKeys: ['term'] },
      ),
    ),
    limit: fc.constantFrom(0, 1, 5, 20, 1000),
    offset: fc.constantFrom(undefined, 0, 1, 7),
    backwards: fc.boolean(),
  });

  describe.each(databases.eachSupportedId())('on %p', id => {
    let catalog: CatalogDatabase;
    let tenantId: string;
    let compareTexts: CompareTexts;

    beforeAll(async () => {
      catalog = await createCatalogDatabase(databases, id);
      tenantId = await catalog.createTenant();
      await catalog.adopt(
        tenantId,
        known.map(entity => ({
          entityId: idOf(entity),
          name: idOf(entity),
          finalEntity: JSON.stringify(entity),
        })),
      );
      const texts = new Set(
        [...stock.values()]
          .flat()
          .flatMap(row => [row.value, row.original_value])
          .filter(text => text !== null),
      );
      const { rows: sorted } = await catalog.client.query<{ text: string }>(
        'select text from unnest($1::text[]) text order by 1',
        [['', ...texts]],
      );
      const places = new Map(sorted.map(({ text }, place) => [text, place]));
      compareTexts = (a, b) => places.get(a)! - places.get(b)!;
    });

    afterAll(() => catalog?.close());

    async function expectSamePage(query: EntityPageQuery) {
      const expected = stockPage(stock, query, compareTexts);
      const page = await catalog.store.readPage(tenantId, {
        ...query,
        total: true,
      });
      expect({
        query,
        totalItems: page.totalItems,
        rows: page.rows.map(({ json, ...row }) => row),
      }).toEqual({ query, ...expected });
      for (const { json, entityId } of page.rows) {
        expect(JSON.parse(json).metadata.uid).toBe(entityId);
      }
      return expected;
    }

    it('reads the same pages for generated queries, from any place on', async () => {
      let found = 0;
      for (const query of fc.sample(queries, {
        seed: SEED,
        numRuns: QUERIES,
      })) {
        const { rows: page } = await expectSamePage(query);
        found += page.length > 0 ? 1 : 0;
        const last = page.at(-1);
        if (last) {
          await expectSamePage({ ...query, offset: 0, after: last });
          await expectSamePage({
            ...query,
            after: last,
            backwards: !query.backwards,
          });
          await expectSamePage({
            ...query,
            after: { entityId: last.entityId },
          });
        }
      }
      expect(found).toBeGreaterThan(QUERIES / 3);
    });

    it('counts the same facets for generated filters', async () => {
      const facets = fc.record(
        { facets: fc.array(field, { maxLength: 4 }), filter: filtersOn(known) },
        { requiredKeys: ['facets'] },
      );
      for (const query of fc.sample(facets, { seed: SEED, numRuns: 100 })) {
        expect({
          query,
          facets: await catalog.store.countFacets(tenantId, query),
        }).toEqual({ query, facets: stockFacets(stock, query, compareTexts) });
      }
    });
  });
});
