import {
  mockServices,
  type TestDatabaseId,
} from '@backstage/backend-test-utils';
import { createTestDatabases } from '@internal/postgres/testUtils';
import type { MockupFilter, MockupStore } from 'backstage-plugin-mockup-node';
import { mockupStoreServiceMock } from 'backstage-plugin-mockup-node/testUtils';
import type { Knex } from 'knex';
import { PostgresMockupStore } from './PostgresMockupStore';

const ALICE = 'user:default/alice';
const BOB = 'user:default/bob';
const UNKNOWN_ID = '00000000-0000-4000-8000-000000000000';

const button = {
  i: 'buy',
  x: 0,
  y: 0,
  w: 2,
  h: 1,
  component: 'Button',
  props: { label: 'Buy', nested: { deep: [1, null, true, 'é'] } },
};

const databases = createTestDatabases();

const implementations: [string, () => Promise<MockupStore>][] = [
  ...databases
    .eachSupportedId()
    .map(([id]): [string, () => Promise<MockupStore>] => [
      id,
      emptyStoreOn(id),
    ]),
  // Other plugins test against it, so that it has to do what the real one does.
  ['in memory', async () => mockupStoreServiceMock()],
];

function emptyStoreOn(id: TestDatabaseId): () => Promise<MockupStore> {
  let opened: Promise<Knex> | undefined;
  return async () => {
    opened ??= databases.init(id);
    const knex = await opened;
    const store = await PostgresMockupStore.create({
      database: mockServices.database({ knex }),
      logger: mockServices.logger.mock(),
    });
    await knex('mockups').delete();
    return store;
  };
}

describe.each(implementations)('MockupStore on %s', (_name, createStore) => {
  let store: MockupStore;

  beforeEach(async () => {
    store = await createStore();
  });

  async function createMockups(...names: string[]) {
    const created = [];
    for (const name of names) {
      const { mockup } = await store.create({ name }, { owner: ALICE });
      created.push(mockup);
    }
    return created;
  }

  const namesOf = (page: { items: { name: string }[] }) =>
    page.items.map(({ name }) => name);

  describe('create', () => {
    it('returns the mockup with a new id, its owner and equal timestamps', async () => {
      const { mockup } = await store.create(
        { name: 'Checkout', description: 'The last step' },
        { owner: ALICE },
      );
      expect(mockup).toEqual({
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        name: 'Checkout',
        description: 'The last step',
        owner: ALICE,
        createdAt: expect.stringMatching(
          /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/,
        ),
        updatedAt: mockup.createdAt,
      });
    });

    it('leaves out a description that was not given', async () => {
      const { mockup } = await store.create({ name: 'x' }, { owner: ALICE });
      expect(mockup).not.toHaveProperty('description');
    });

    it('dates the mockup in UTC', async () => {
      const before = Date.now();
      const { mockup } = await store.create({ name: 'x' }, { owner: ALICE });
      const created = Date.parse(mockup.createdAt);
      expect(created).toBeGreaterThanOrEqual(before - 5_000);
      expect(created).toBeLessThanOrEqual(Date.now() + 5_000);
    });
  });

  describe('get', () => {
    it('returns null as latestVersion while there is no version', async () => {
      const { mockup, revision } = await store.create(
        { name: 'x' },
        { owner: ALICE },
      );
      await expect(store.get(mockup.id)).resolves.toEqual({
        mockup: { ...mockup, latestVersion: null },
        revision,
      });
    });

    it('returns the newest of several versions', async () => {
      const [{ id }] = await createMockups('x');
      await store.saveVersion(id, { layoutData: [] }, { createdBy: ALICE });
      const second = await store.saveVersion(
        id,
        { layoutData: [button], versionTag: 'v2' },
        { createdBy: BOB },
      );
      const found = await store.get(id);
      expect(found?.mockup.latestVersion).toEqual(second?.version);
      expect(found?.revision).toBe(second?.revision);
    });

    it.each([UNKNOWN_ID, 'no-uuid', ''])(
      'returns nothing for the id %j',
      async id => {
        await expect(store.get(id)).resolves.toBeUndefined();
      },
    );
  });

  describe('list', () => {
    it('is empty while there is nothing', async () => {
      await expect(store.list()).resolves.toEqual({ items: [], totalItems: 0 });
    });

    it('returns the most recently changed mockup first', async () => {
      const [first] = await createMockups('first', 'second', 'third');
      await store.update(first.id, { description: 'changed' });
      expect(namesOf(await store.list())).toEqual(['first', 'third', 'second']);
    });

    it('moves a mockup to the front when a version of it is saved', async () => {
      const [first] = await createMockups('first', 'second');
      await store.saveVersion(
        first.id,
        { layoutData: [] },
        { createdBy: ALICE },
      );
      expect(namesOf(await store.list())).toEqual(['first', 'second']);
    });

    it('returns only the mockups of an owner', async () => {
      await createMockups('hers');
      await store.create({ name: 'his' }, { owner: BOB });
      const page = await store.list({ owner: BOB });
      expect(namesOf(page)).toEqual(['his']);
      expect(page.totalItems).toBe(1);
    });

    it.each([
      ['name,asc', ['a', 'b', 'c']],
      ['name,desc', ['c', 'b', 'a']],
      ['createdAt,asc', ['b', 'c', 'a']],
      ['createdAt,desc', ['a', 'c', 'b']],
      ['updatedAt,asc', ['c', 'a', 'b']],
      ['updatedAt,desc', ['b', 'a', 'c']],
    ] as const)('orders by %s', async (orderBy, expected) => {
      const [b] = await createMockups('b', 'c', 'a');
      await store.update(b.id, { description: 'changed last' });
      expect(namesOf(await store.list({ orderBy }))).toEqual(expected);
    });

    it('finds text in names and descriptions in any case', async () => {
      await createMockups('Checkout', 'Basket');
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
        await createMockups('plain', `with ${character} in it`);
        const page = await store.list({ search: character });
        expect(namesOf(page)).toEqual([`with ${character} in it`]);
      },
    );

    it('pages without losing or repeating a mockup', async () => {
      await createMockups('a', 'b', 'c', 'd', 'e');
      const pages = await Promise.all(
        [0, 2, 4, 6].map(offset =>
          store.list({ orderBy: 'name,asc', limit: 2, offset }),
        ),
      );
      expect(pages.map(namesOf)).toEqual([['a', 'b'], ['c', 'd'], ['e'], []]);
      expect(pages.map(page => page.totalItems)).toEqual([5, 5, 5, 5]);
    });

    it('applies a filter of nested conditions', async () => {
      await createMockups('hers');
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

    it('lets an empty alternative match nothing, and an empty conjunction everything', async () => {
      await createMockups('x');
      // No policy can say so, but a rule of one's own can.
      const none = [] as unknown as [MockupFilter];
      const countOf = async (filter: MockupFilter) =>
        (await store.list({ filter })).totalItems;
      await expect(countOf({ anyOf: none })).resolves.toBe(0);
      await expect(countOf({ not: { anyOf: none } })).resolves.toBe(1);
      await expect(countOf({ allOf: none })).resolves.toBe(1);
      await expect(countOf({ not: { allOf: none } })).resolves.toBe(0);
    });

    it('finds a text by what it was changed to', async () => {
      const [{ id }] = await createMockups('before');
      await store.update(id, { name: 'after', description: 'described' });
      await expect(store.list({ search: 'befor' })).resolves.toMatchObject({
        totalItems: 0,
      });
      for (const search of ['aft', 'descri']) {
        await expect(store.list({ search })).resolves.toMatchObject({
          totalItems: 1,
        });
      }
    });

    it('refuses a limit out of bounds', async () => {
      await expect(store.list({ limit: 501 })).rejects.toThrow(
        'limit must be an integer from 1 to 500, got 501',
      );
    });
  });

  describe('update', () => {
    it('changes only what is given and moves updatedAt', async () => {
      const { mockup, revision } = await store.create(
        { name: 'x', description: 'kept' },
        { owner: ALICE },
      );
      const updated = await store.update(mockup.id, { name: 'y' });
      expect(updated?.mockup).toEqual({
        ...mockup,
        name: 'y',
        updatedAt: expect.any(String),
      });
      expect(updated?.revision).not.toBe(revision);
      const found = await store.get(mockup.id);
      expect(found?.mockup).toEqual({
        ...updated?.mockup,
        latestVersion: null,
      });
    });

    it('removes the description for null', async () => {
      const { mockup } = await store.create(
        { name: 'x', description: 'goes' },
        { owner: ALICE },
      );
      const updated = await store.update(mockup.id, { description: null });
      expect(updated?.mockup).not.toHaveProperty('description');
    });

    it('returns nothing where there is no such mockup', async () => {
      const change = { name: 'y' };
      await expect(store.update(UNKNOWN_ID, change)).resolves.toBeUndefined();
      await expect(store.update('no-uuid', change)).resolves.toBeUndefined();
      await expect(
        store.update(UNKNOWN_ID, change, { ifRevisionIn: ['1'] }),
      ).resolves.toBeUndefined();
    });
  });

  describe('revisions', () => {
    it('let a write through at the revision it names, and only then', async () => {
      const { mockup, revision } = await store.create(
        { name: 'x' },
        { owner: ALICE },
      );
      const condition = { ifRevisionIn: ['0', revision] };
      await expect(
        store.update(mockup.id, { name: 'y' }, condition),
      ).resolves.toBeDefined();

      const refused = {
        name: 'PreconditionFailedError',
        statusCode: 412,
      };
      await expect(
        store.update(mockup.id, { name: 'z' }, condition),
      ).rejects.toMatchObject(refused);
      await expect(
        store.saveVersion(
          mockup.id,
          { layoutData: [] },
          { createdBy: ALICE, ...condition },
        ),
      ).rejects.toMatchObject(refused);
      await expect(store.delete(mockup.id, condition)).rejects.toMatchObject(
        refused,
      );
      const found = await store.get(mockup.id);
      expect(found?.mockup).toMatchObject({ name: 'y', latestVersion: null });
    });

    it('refuse every write where none is named', async () => {
      const [{ id }] = await createMockups('x');
      await expect(
        store.update(id, { name: 'y' }, { ifRevisionIn: [] }),
      ).rejects.toMatchObject({ statusCode: 412 });
    });

    it('let exactly one of two racing writers through', async () => {
      const { mockup, revision } = await store.create(
        { name: 'x' },
        { owner: ALICE },
      );
      const outcomes = await Promise.allSettled(
        ['one', 'two', 'three', 'four'].map(name =>
          store.update(mockup.id, { name }, { ifRevisionIn: [revision] }),
        ),
      );
      const statuses = outcomes.map(({ status }) => status).sort();
      expect(statuses).toEqual([
        'fulfilled',
        'rejected',
        'rejected',
        'rejected',
      ]);
    });
  });

  describe('delete', () => {
    it('removes the mockup with its versions, once', async () => {
      const [{ id }] = await createMockups('x');
      const saved = await store.saveVersion(
        id,
        { layoutData: [] },
        { createdBy: ALICE },
      );
      await expect(store.delete(id)).resolves.toBe(true);
      await expect(store.delete(id)).resolves.toBe(false);
      await expect(store.get(id)).resolves.toBeUndefined();
      await expect(store.listVersions(id)).resolves.toBeUndefined();
      await expect(
        store.getVersion(id, saved!.version.id),
      ).resolves.toBeUndefined();
      await expect(store.getLatestVersion(id)).resolves.toBeUndefined();
    });

    it.each([UNKNOWN_ID, 'no-uuid'])('says false for %j', async id => {
      await expect(store.delete(id)).resolves.toBe(false);
    });
  });

  describe('versions', () => {
    it('come back as they were saved', async () => {
      const [{ id }] = await createMockups('x');
      const saved = await store.saveVersion(
        id,
        { layoutData: [button], versionTag: 'first' },
        { createdBy: BOB },
      );
      expect(saved?.version).toEqual({
        id: expect.any(String),
        mockupId: id,
        versionTag: 'first',
        layoutData: [button],
        createdBy: BOB,
        createdAt: expect.any(String),
      });
      const { version } = saved!;
      await expect(store.getVersion(id, version.id)).resolves.toEqual(version);
      await expect(store.getLatestVersion(id)).resolves.toEqual(version);
      await expect(store.listVersions(id)).resolves.toEqual({
        items: [version],
        totalItems: 1,
      });
    });

    it('leave out a tag that was not given', async () => {
      const [{ id }] = await createMockups('x');
      await store.saveVersion(id, { layoutData: [] }, { createdBy: ALICE });
      const version = await store.getLatestVersion(id);
      expect(version).not.toHaveProperty('versionTag');
    });

    it('saved at once have a definite order, in which the last is the latest', async () => {
      const [{ id }] = await createMockups('x');
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

    it('are listed newest first, a page at a time', async () => {
      const [{ id }] = await createMockups('x');
      for (const versionTag of ['a', 'b', 'c']) {
        await store.saveVersion(
          id,
          { layoutData: [], versionTag },
          { createdBy: ALICE },
        );
      }
      const tagsOf = async (offset: number) => {
        const page = await store.listVersions(id, { limit: 2, offset });
        expect(page?.totalItems).toBe(3);
        return page?.items.map(({ versionTag }) => versionTag);
      };
      await expect(tagsOf(0)).resolves.toEqual(['c', 'b']);
      await expect(tagsOf(2)).resolves.toEqual(['a']);
      await expect(tagsOf(4)).resolves.toEqual([]);
    });

    it('are an empty list for a mockup without any', async () => {
      const [{ id }] = await createMockups('x');
      await expect(store.listVersions(id)).resolves.toEqual({
        items: [],
        totalItems: 0,
      });
    });

    it('are nothing for a mockup that does not exist', async () => {
      const options = { createdBy: ALICE };
      for (const id of [UNKNOWN_ID, 'no-uuid']) {
        await expect(store.listVersions(id)).resolves.toBeUndefined();
        await expect(store.getLatestVersion(id)).resolves.toBeUndefined();
        await expect(
          store.saveVersion(id, { layoutData: [] }, options),
        ).resolves.toBeUndefined();
      }
    });

    it('are not found under another mockup', async () => {
      const [one, other] = await createMockups('one', 'other');
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
  });
});
