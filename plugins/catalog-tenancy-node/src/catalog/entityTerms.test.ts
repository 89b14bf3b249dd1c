import type { JsonObject, JsonValue } from '@backstage/types';
import { createTestDatabases } from '@internal/postgres/testUtils';
import * as fc from 'fast-check';
import { KEY_PREFIXES } from 'backstage-catalog-tenancy-migrations';
import { randomUUID } from 'node:crypto';
import { createTenancyDatabase } from '../__testUtils__/tenancyDatabase';
import type { TenancyDatabase } from '../__testUtils__/tenancyDatabase';
import { entities } from './__testUtils__/arbitraries';
import { stockEntitySearch } from './__testUtils__/stockEntitySearch';
import type { StockSearchRow } from './__testUtils__/stockEntitySearch';

const SEED = Number(process.env.ENTITY_SEARCH_SEED ?? 20261121);
const ENTITIES = Number(process.env.ENTITY_SEARCH_ENTITIES ?? 400);

// What collides once keys are joined and lower-cased, what is about as long as may
// be, and what JavaScript puts in an order of its own.
const oddKeys = fc.constantFrom(
  ...[
    '10',
    '2',
    '01',
    '4294967294',
    '4294967295',
    '-1',
    'a',
    'A',
    'a.2',
    'a.A',
  ],
  ...[
    'x'.repeat(197),
    'İ'.repeat(66),
    '𝒳'.repeat(99),
    'metadata',
    'name',
    'uid',
  ],
  ...[
    'metadata.name',
    'metadata.namespace',
    'metadata.UID',
    'Status',
    'status',
  ],
);
const oddTexts = fc.constantFrom(
  ...[
    'a',
    'A',
    'TRUE',
    'true',
    'True',
    '2',
    'ΑΣ',
    'ας',
    'ασ',
    'İ',
    'ﬁ',
    'ß',
    'ẞ',
  ],
  ...[
    'X'.repeat(200),
    'x'.repeat(200),
    'X'.repeat(201),
    'İ'.repeat(100),
    'null',
  ],
  ...[
    'İ'.repeat(101),
    '𝒳'.repeat(100),
    '𝒳'.repeat(101),
    'é'.repeat(200),
    '\t\n',
  ],
);
// Of scripts with two cases, as both Node.js and any ICU of a server know them.
const letters = fc
  .oneof(
    ...[
      [0x20, 0x24f],
      [0x370, 0x377],
      [0x37b, 0x37f],
      [0x384, 0x38a],
      [0x3a3, 0x556],
      [0x10a0, 0x10c5],
      [0x1e00, 0x1f15],
      [0x1f80, 0x1fb4],
      [0x2100, 0x216f],
      [0x24b6, 0x24e9],
      [0x2c60, 0x2c70],
      [0xff21, 0xff5a],
      [0x10400, 0x1044f],
      [0x1f600, 0x1f64f],
    ].map(([min, max]) => fc.integer({ min, max })),
  )
  .map(point => String.fromCodePoint(point));
const oddJson = fc.letrec<{ value: JsonValue; object: JsonObject }>(tie => ({
  value: fc.oneof(
    { maxDepth: 4 },
    oddTexts,
    fc.string({ unit: letters, maxLength: 8 }),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.double({ noNaN: true, min: 2 ** 53, max: 1e24 }),
    fc.bigInt({ min: 2n ** 53n, max: 2n ** 80n }).map(Number),
    fc.constantFrom<JsonValue>(true, false, null, 1e21, 1e-7, 123456789012),
    fc.array(tie('value'), { maxLength: 5 }),
    tie('object'),
  ),
  object: fc.dictionary(oddKeys, tie('value'), { maxKeys: 6 }),
}));
const oddEntities = fc
  .record(
    {
      kind: fc.oneof(oddTexts, oddJson.value),
      metadata: fc.record(
        {
          name: oddTexts,
          namespace: fc.oneof(oddTexts, fc.constantFrom('', null)),
          Name: oddTexts,
          tags: oddJson.value,
        },
        { requiredKeys: ['name'] },
      ),
      relations: fc.array(
        fc.record(
          { type: oddTexts, targetRef: oddTexts, more: oddJson.value },
          { requiredKeys: ['type', 'targetRef'] },
        ),
        { maxLength: 4 },
      ),
      more: oddJson.object,
    },
    { requiredKeys: ['kind', 'metadata'] },
  )
  .map(({ more, ...entity }) => ({ ...more, ...entity }));

describe('the terms of entities are the rows of the stock catalog', () => {
  const databases = createTestDatabases({ citus: true });

  describe.each(databases.eachSupportedId())('on %p', id => {
    let database: TenancyDatabase;
    beforeAll(async () => {
      database = await createTenancyDatabase(databases, id);
    });
    afterAll(() => database?.close());

    it('for generated entities', async () => {
      const tenantId = await database.createTenant();
      const generated = fc
        .sample(fc.oneof(entities, oddEntities), {
          seed: SEED,
          numRuns: ENTITIES,
        })
        .map((entity, position) => ({
          ...entity,
          metadata: {
            name: `Entity-${position}`,
            ...entity.metadata,
            uid: randomUUID(),
          },
        }));
      await database.client.query(
        `insert into entities (tenant_id, entity_id, entity_ref, entity_kind, entity_namespace,
                               entity_name, final_entity, hash)
         select $1, (e #>> '{metadata,uid}')::uuid, 'k:n/' || i, 'k', 'n', i::text, e, ''
           from unnest($2::jsonb[]) with ordinality e (e, i)`,
        [tenantId, generated.map(entity => JSON.stringify(entity))],
      );
      const { rows } = await database.client.query<{
        id: string;
        json: string;
        terms: StockSearchRow[];
      }>(
        `select e.entity_id as id, e.final_entity::text as json,
                (select json_agg(json_build_object('key', s.key, 'value', s.value,
                          'original_value', s.original_value))
                   from entity_terms s
                  where s.tenant_id = e.tenant_id and s.entity_id = e.entity_id) as terms
           from entities e where e.tenant_id = $1`,
        [tenantId],
      );
      expect(rows).toHaveLength(ENTITIES);
      let refused = 0;
      for (const row of rows) {
        const expected = stockEntitySearch(row.id, JSON.parse(row.json));
        refused += Number(expected.refused);
        expect({
          json: row.json,
          terms: row.terms.map(inFull).map(asText).sort(),
        }).toEqual({
          json: row.json,
          terms: expected.rows.map(asText).sort(),
        });
      }
      // Both kinds are among them.
      expect(refused).toBeGreaterThan(ENTITIES / 20);
      expect(refused).toBeLessThan((ENTITIES * 3) / 4);
    });
  });
});

/** What a stored term says, in the form of the stock catalog. */
function inFull({
  key,
  value,
  original_value,
}: StockSearchRow): StockSearchRow {
  const prefix = KEY_PREFIXES[key[0]];
  return {
    key: prefix === undefined ? key : prefix + key.slice(1),
    value,
    original_value: original_value === '' ? value : original_value,
  };
}

function asText({ key, value, original_value }: StockSearchRow): string {
  return JSON.stringify([key, value, original_value]);
}
