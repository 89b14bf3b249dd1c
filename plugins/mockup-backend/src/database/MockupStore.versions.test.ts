import { createTestDatabases } from '@internal/postgres/testUtils';
import {
  compareLayouts,
  type LayoutItem,
} from 'backstage-plugin-mockup-common';
import type { MockupStore } from 'backstage-plugin-mockup-node';
import { createMockups, mockupStores } from '../__testUtils__/mockupStores';
import { ALICE, item, UNKNOWN_ID } from '../__testUtils__/startMockupBackend';

const databases = createTestDatabases();

describe.each(mockupStores(databases))(
  'versions in a mockup store on %s',
  (_name, createStore) => {
    let store: MockupStore;

    beforeEach(async () => {
      store = await createStore();
    });

    it('are compared, older with newer and back', async () => {
      const [{ id }, other] = await createMockups(store, 'x', 'other');
      const save = async (mockupId: string, ...layoutData: LayoutItem[]) => {
        const saved = await store.saveVersion(
          mockupId,
          { layoutData },
          { createdBy: ALICE },
        );
        return saved!.version;
      };
      const older = await save(id, item(), item({ i: 'title' }));
      const newer = await save(id, item({ i: 'title', x: 3 }));
      const foreign = await save(other.id);

      const there = await store.compareVersions(id, older.id, newer.id);
      expect(there).toEqual({
        from: older.id,
        to: newer.id,
        ...compareLayouts(older.layoutData, newer.layoutData),
      });
      expect(there?.items.map(({ i, change }) => [i, change])).toEqual([
        ['buy', 'removed'],
        ['title', 'changed'],
      ]);
      const back = await store.compareVersions(id, newer.id, older.id);
      expect(back?.items.map(({ i, change }) => [i, change])).toEqual([
        ['buy', 'added'],
        ['title', 'changed'],
      ]);
      await expect(
        store.compareVersions(id, newer.id, newer.id),
      ).resolves.toEqual({
        from: newer.id,
        to: newer.id,
        items: [],
        patch: [],
      });
      for (const missing of [foreign.id, UNKNOWN_ID, 'no-uuid']) {
        await expect(
          store.compareVersions(id, older.id, missing),
        ).resolves.toBeUndefined();
        await expect(
          store.compareVersions(id, missing, older.id),
        ).resolves.toBeUndefined();
      }
    });

    it('saved at once have a definite order, in which the last is the latest', async () => {
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
