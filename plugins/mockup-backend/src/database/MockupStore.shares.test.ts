import { createTestDatabases } from '@internal/postgres/testUtils';
import type { MockupShare } from 'backstage-plugin-mockup-common';
import type { MockupFilter, MockupStore } from 'backstage-plugin-mockup-node';
import { createMockups, mockupStores } from '../__testUtils__/mockupStores';
import { ALICE, BOB, item } from '../__testUtils__/startMockupBackend';

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
  'shares in a mockup store on %s',
  (_name, createStore) => {
    let store: MockupStore;
    let id: string;
    let versionId: string;

    beforeEach(async () => {
      store = await createStore();
      const { items } = await store.listTrash({ limit: 500 });
      await Promise.all(items.map(trashed => store.purge(trashed.id)));
      [{ id }] = await createMockups(store, 'x');
      const saved = await store.saveVersion(
        id,
        { layoutData: [item()] },
        { createdBy: BOB },
      );
      versionId = saved!.version.id;
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
      ['all but them', { not: readableBy(DESIGNERS) }, ['unshared']],
    ] as [string, MockupFilter, string[]][])(
      'are a condition of lists: %s',
      async (_who, filter, names) => {
        await createMockups(store, 'unshared');
        await store.share(id, { shares: SHARES });
        const { items, totalItems } = await store.list({
          filter,
          orderBy: 'name,asc',
        });
        expect(items.map(({ name }) => name)).toEqual(names);
        expect(totalItems).toBe(names.length);
      },
    );

    it('are a condition of every other operation, which otherwise finds nothing', async () => {
      await store.share(id, { shares: SHARES });
      const { revision } = (await store.get(id))!;
      const attempts = (filter: MockupFilter) => [
        () => store.get(id, { filter }),
        () => store.listVersions(id, { filter }),
        () => store.listVersions(id, { filter, oldestFirst: true }),
        () => store.getVersion(id, versionId, { filter }),
        () => store.getLatestVersion(id, { filter }),
        () => store.compareVersions(id, versionId, versionId, { filter }),
        () => store.duplicate(id, {}, { owner: BOB, filter }),
        () => store.update(id, { name: 'x' }, { filter }),
        () =>
          store.saveVersion(id, { layoutData: [] }, { createdBy: BOB, filter }),
        () =>
          store.restoreVersion(id, versionId, {}, { createdBy: BOB, filter }),
        () =>
          store.updateVersion(id, versionId, { versionTag: 't' }, { filter }),
        () => store.share(id, { shares: SHARES }, { filter }),
        () => store.delete(id, { filter }),
        () => store.restore(id, { filter }),
        () => store.delete(id),
        () => store.purge(id, { filter }),
      ];
      const [shared] = await createMockups(store, 'shared with them');
      const stranger: MockupFilter = {
        anyOf: [{ owner: [BOB] }, writableBy('group:default/others')],
      };
      await store.share(shared.id, {
        shares: [{ group: 'group:default/others', access: 'write' }],
      });
      // Not one of them tells that it is there, by its revision either.
      for (const attempt of attempts(stranger).slice(0, -3)) {
        expect((await attempt()) || undefined).toBeUndefined();
      }
      await expect(
        store.update(
          id,
          { name: 'y' },
          { filter: stranger, ifRevisionIn: ['1'] },
        ),
      ).resolves.toBeUndefined();
      expect((await store.get(id))?.revision).toBe(revision);
      await store.delete(id);
      await expect(store.restore(id, { filter: stranger })).resolves.toBe(
        undefined,
      );
      await expect(store.purge(id, { filter: stranger })).resolves.toBe(false);
      await store.restore(id);

      const member: MockupFilter = {
        anyOf: [{ owner: [BOB] }, writableBy(DESIGNERS)],
      };
      for (const attempt of attempts(member)) {
        expect(await attempt()).toBeTruthy();
      }
    });

    it('outlast the trash, where they can be asked for', async () => {
      await store.share(id, { shares: SHARES });
      await store.delete(id);
      for (const [filter, total] of [
        [readableBy(REVIEWERS), 1],
        [writableBy(REVIEWERS), 0],
      ] as const) {
        const { items, totalItems } = await store.listTrash({ filter });
        expect(totalItems).toBe(total);
        items.forEach(({ shares }) => expect(shares).toEqual(SHARES));
      }
      await expect(store.restore(id)).resolves.toMatchObject({
        mockup: { shares: SHARES },
      });
      await store.delete(id);
      await store.purge(id);
    });

    it('do not pass to a copy', async () => {
      await store.share(id, { shares: SHARES });
      const copy = await store.duplicate(
        id,
        { withHistory: true },
        { owner: BOB },
      );
      expect(copy?.mockup).not.toHaveProperty('shares');
    });
  },
);
