import { createTestDatabases } from '@internal/postgres/testUtils';
import type { MockupStore } from 'backstage-plugin-mockup-node';
import { createMockups, mockupStores } from '../__testUtils__/mockupStores';
import { ALICE, BOB, UNKNOWN_ID } from '../__testUtils__/startMockupBackend';

const databases = createTestDatabases();

describe.each(mockupStores(databases))(
  'a mockup store on %s',
  (_name, createStore) => {
    let store: MockupStore;

    beforeEach(async () => {
      store = await createStore();
    });

    const namesOf = (page: { items: { name: string }[] }) =>
      page.items.map(({ name }) => name);

    it.each([
      ['name,asc', ['a', 'b', 'c']],
      ['name,desc', ['c', 'b', 'a']],
      ['createdAt,asc', ['b', 'c', 'a']],
      ['createdAt,desc', ['a', 'c', 'b']],
      ['updatedAt,asc', ['c', 'a', 'b']],
      ['updatedAt,desc', ['b', 'a', 'c']],
    ] as const)('orders by %s', async (orderBy, expected) => {
      const [b] = await createMockups(store, 'b', 'c', 'a');
      await store.update(b.id, { description: 'changed last' });
      expect(namesOf(await store.list({ orderBy }))).toEqual(expected);
    });

    it('finds text in names and descriptions in any case', async () => {
      await createMockups(store, 'Checkout', 'Basket');
      await store.create(
        { name: 'x', description: 'before the CHECKOUT' },
        { owner: ALICE },
      );
      const page = await store.list({ search: 'checkOut' });
      expect(namesOf(page).sort()).toEqual(['Checkout', 'x']);
    });

    it.each(['%', '_', '\\', "'"])(
      'takes %j in a search for itself',
      async character => {
        await createMockups(store, 'plain', `with ${character} in it`);
        const page = await store.list({ search: character });
        expect(namesOf(page)).toEqual([`with ${character} in it`]);
      },
    );

    it('applies a filter of nested conditions', async () => {
      await createMockups(store, 'hers');
      await store.create({ name: 'his' }, { owner: BOB });
      await store.create({ name: 'theirs' }, { owner: 'user:default/carol' });

      const filtered = (filter: Parameters<MockupStore['list']>[0]) =>
        store.list({ orderBy: 'name,asc', ...filter }).then(namesOf);

      await expect(
        filtered({ filter: { not: { owner: [BOB] } } }),
      ).resolves.toEqual(['hers', 'theirs']);
      await expect(
        filtered({
          filter: { anyOf: [{ owner: [ALICE] }, { owner: [BOB] }] },
        }),
      ).resolves.toEqual(['hers', 'his']);
      await expect(
        filtered({
          filter: {
            allOf: [{ owner: [ALICE, BOB] }, { not: { owner: [ALICE] } }],
          },
        }),
      ).resolves.toEqual(['his']);
      await expect(filtered({ filter: { owner: [] } })).resolves.toEqual([]);
      const { items } = await store.list({ orderBy: 'name,asc' });
      const ids = ['no-uuid', items[0].id, items[2].id, UNKNOWN_ID];
      await expect(filtered({ filter: { id: ids } })).resolves.toEqual([
        'hers',
        'theirs',
      ]);
      await expect(filtered({ filter: { id: [] } })).resolves.toEqual([]);
      await expect(
        filtered({ owner: ALICE, filter: { owner: [BOB] } }),
      ).resolves.toEqual([]);
    });

    it('gives versions that are saved at once a definite order, in which the last is the latest', async () => {
      const [{ id }] = await createMockups(store, 'x');
      const saved = await Promise.all(
        Array.from({ length: 50 }, (_, n) =>
          store.saveVersion(
            id,
            { layoutData: [], versionTag: `v${n}` },
            { createdBy: ALICE },
          ),
        ),
      );
      expect(new Set(saved.map(each => each?.revision)).size).toBe(50);

      const first = await store.listVersions(id, { limit: 500 });
      const second = await store.listVersions(id, { limit: 500 });
      expect(first?.items).toEqual(second?.items);
      expect(first?.totalItems).toBe(50);

      const newestFirst = saved
        .sort((a, b) => Number(b!.revision) - Number(a!.revision))
        .map(each => each!.version.id);
      expect(first?.items.map(version => version.id)).toEqual(newestFirst);
      const latest = await store.getLatestVersion(id);
      expect(latest?.id).toBe(newestFirst[0]);
    });

    it('finds no version under another mockup', async () => {
      const [one, other] = await createMockups(store, 'one', 'other');
      const saved = await store.saveVersion(
        one.id,
        { layoutData: [] },
        { createdBy: ALICE },
      );
      const { id } = saved!.version;
      await expect(store.getVersion(other.id, id)).resolves.toBeUndefined();
      await expect(
        store.getVersion(one.id, 'no-uuid'),
      ).resolves.toBeUndefined();
    });
  },
);
