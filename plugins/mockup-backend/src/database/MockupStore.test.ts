import { createTestDatabases } from '@internal/postgres/testUtils';
import type { MockupShare } from 'backstage-plugin-mockup-common';
import type { MockupFilter, MockupStore } from 'backstage-plugin-mockup-node';
import { createMockups, mockupStores } from '../__testUtils__/mockupStores';
import { ALICE, BOB, UNKNOWN_ID } from '../__testUtils__/startMockupBackend';

const databases = createTestDatabases();

const DESIGNERS = 'group:default/designers';
const REVIEWERS = 'group:default/reviewers';
const SHARES: MockupShare[] = [
  { group: DESIGNERS, access: 'write' },
  { group: REVIEWERS, access: 'read' },
];

const ALL = ['unshared', 'x'];

const readableBy = (...sharedWith: string[]): MockupFilter => ({
  sharedWith,
  access: 'read',
});
const writableBy = (...sharedWith: string[]): MockupFilter => ({
  sharedWith,
  access: 'write',
});

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
    });

    it('neither shows nor copies what the filter of the operation leaves out', async () => {
      const [{ id }] = await createMockups(store, 'hers');
      await store.saveVersion(id, { layoutData: [] }, { createdBy: ALICE });
      const foundBy = async (owner: string) => {
        const options = { owner: BOB, filter: { owner: [owner] } };
        return [
          await store.get(id, options),
          await store.getLatestVersion(id, options),
          await store.duplicate(id, {}, options),
        ].map(Boolean);
      };
      expect(await foundBy(BOB)).toEqual([false, false, false]);
      expect((await store.list()).totalItems).toBe(1);
      expect(await foundBy(ALICE)).toEqual([true, true, true]);
    });

    it.each([
      ['the readers', readableBy(REVIEWERS), ['x']],
      ['the writers, who read too', readableBy(DESIGNERS), ['x']],
      ['those who write', writableBy(DESIGNERS), ['x']],
      ['no reader who would write', writableBy(REVIEWERS), []],
      ['another group', readableBy('group:default/others'), []],
      ['one of several groups', writableBy(REVIEWERS, DESIGNERS), ['x']],
      ['no group', readableBy(), []],
      ['its owner or them', { anyOf: [readableBy(), { owner: [ALICE] }] }, ALL],
      ['none of no conditions', { anyOf: [] }, []],
      ['all but them', { not: readableBy(DESIGNERS) }, ['unshared']],
    ] as [string, MockupFilter, string[]][])(
      'lists what is shared with %s',
      async (_who, filter, names) => {
        const [{ id }] = await createMockups(store, 'x', 'unshared');
        await store.share(id, { shares: SHARES });
        const { items, totalItems } = await store.list({
          filter,
          orderBy: 'name,asc',
        });
        expect(items.map(({ name }) => name)).toEqual(names);
        expect(totalItems).toBe(names.length);
      },
    );

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
  },
);
