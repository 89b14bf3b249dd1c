import { createTestDatabases } from '@internal/postgres/testUtils';
import {
  COUNTED_KEY,
  isCountedKey,
  KEY_PREFIXES,
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

  it('are in the index of facets by SQL where the reads expect it', async () => {
    const knex = await databases.init(id);
    const keys = [...KEYS, 'metadata.name', 'metadata.uid'].map(toTermKey);
    const { rows } = await knex.raw(
      `select array_agg(${COUNTED_KEY} order by i) as counted
         from (select key collate "C" as key, i from unnest(?::text[]) with ordinality k (key, i)) k`,
      [keys],
    );
    expect(rows[0].counted).toEqual(keys.map(isCountedKey));
    expect(new Set(rows[0].counted)).toEqual(new Set([true, false]));
  });
});
