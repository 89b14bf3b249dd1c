import { createTestDatabases } from '@internal/postgres/testUtils';
import {
  COUNTED_KEY,
  isCountedKey,
  isOrderedKey,
  KEY_PREFIXES,
  ORDERED_KEY,
  termKeySql,
  toTermKey,
} from './keys';

const databases = createTestDatabases();

const NAMES = [
  '',
  'a',
  'annotations.x',
  'labels.',
  'backstage.io/techdocs-ref',
];

const KEYS = [
  ...['kind', 'apiversion', 'metadata', 'meta', 'spec', 'specs.x', 'x.spec.y'],
  ...['a', 'b', 'm', 'relations', 'other.metadata.name', 'İ', ''],
  ...Object.values(KEY_PREFIXES).flatMap(prefix => [
    prefix.slice(0, -1),
    ...NAMES.map(name => prefix + name),
  ]),
];

describe('keys of entity_terms', () => {
  it('differ where the keys of entities do', () => {
    const keys = [...new Set(KEYS)];
    expect(new Set(keys.map(toTermKey)).size).toBe(keys.length);
  });

  it('begin with a letter in place of the longest prefix', () => {
    expect(
      [
        'metadata.annotations.backstage.io/x',
        'metadata.annotations.x',
        'kind',
      ].map(toTermKey),
    ).toEqual(['Bx', 'Ax', 'kind']);
  });
});

describe.each(databases.eachSupportedId())('keys of entity_terms on %s', id => {
  it('are the same from SQL as from the reads', async () => {
    const knex = await databases.init(id);
    const { rows } = await knex.raw(
      `select array_agg(${termKeySql('key')} order by i) as keys
         from unnest(?::text[]) with ordinality k (key, i)`,
      [KEYS],
    );
    expect(rows[0].keys).toEqual(KEYS.map(toTermKey));
  });

  it.each([
    ['facets', COUNTED_KEY, isCountedKey],
    ['orders', ORDERED_KEY, isOrderedKey],
  ])(
    'are in the index of %s by SQL where the reads expect it',
    async (_, sql, has) => {
      const knex = await databases.init(id);
      const keys = [...KEYS, 'metadata.name', 'metadata.uid'].map(toTermKey);
      const { rows } = await knex.raw(
        `select array_agg(${sql} order by i) as indexed
         from (select key collate "C" as key, i from unnest(?::text[]) with ordinality k (key, i)) k`,
        [keys],
      );
      expect(rows[0].indexed).toEqual(keys.map(has));
      expect(new Set(rows[0].indexed)).toEqual(new Set([true, false]));
    },
  );
});
