import { createTestDatabases } from '@internal/postgres/testUtils';
import type { JsonObject } from '@backstage/types';
import * as fc from 'fast-check';
import { randomUUID } from 'node:crypto';
import { entities, filtersOn } from './__testUtils__/arbitraries';
import { createCatalogDatabase } from './__testUtils__/catalogDatabase';
import type { CatalogDatabase } from './__testUtils__/catalogDatabase';
import { stockMatches, stockSearchRows } from './__testUtils__/stockSearch';

const SEED = 20260904;
const ENTITIES = 150;
const FILTERS = 400;

describe('filters mean what they mean to the stock catalog', () => {
  const databases = createTestDatabases({ citus: true });

  describe.each(databases.eachSupportedId())('on %p', id => {
    let catalog: CatalogDatabase;
    let tenantId: string;
    const known: JsonObject[] = fc
      .sample(entities, { seed: SEED, numRuns: ENTITIES })
      .map((entity, position) => ({
        ...entity,
        metadata: {
          ...entity.metadata,
          name: `Entity-${position}`,
          uid: randomUUID(),
        },
      }))
      // As they are once they have been through JSON.
      .map(entity => JSON.parse(JSON.stringify(entity)));

    beforeAll(async () => {
      catalog = await createCatalogDatabase(databases, id);
      tenantId = await catalog.createTenant();
      await catalog.adopt(
        tenantId,
        known.map(entity => {
          const metadata = entity.metadata as JsonObject;
          return {
            entityId: String(metadata.uid),
            kind: String(entity.kind).toLowerCase(),
            namespace: String(metadata.namespace ?? 'default').toLowerCase(),
            name: String(metadata.name).toLowerCase(),
            finalEntity: JSON.stringify(entity),
          };
        }),
      );
    });

    afterAll(() => catalog?.close());

    it('finds the same entities for generated filters', async () => {
      const rows = new Map(
        known.map(entity => [entity, stockSearchRows(entity)]),
      );
      const filters = fc.sample(filtersOn(known), {
        seed: SEED,
        numRuns: FILTERS,
      });
      let found = 0;
      for (const filter of filters) {
        const expected = known
          .filter(entity => stockMatches(rows.get(entity)!, filter))
          .map(entity => (entity.metadata as JsonObject).name);
        const actual = await catalog.store.queryEntities(tenantId, { filter });
        expect({
          filter,
          names: actual.map(({ metadata }) => metadata.name).sort(),
        }).toEqual({ filter, names: expected.sort() });
        found += expected.length > 0 && expected.length < ENTITIES ? 1 : 0;
      }
      // Most of them tell entities apart.
      expect(found).toBeGreaterThan(FILTERS / 3);
    });
  });
});
