import { createTestDatabases } from '@internal/postgres/testUtils';
import type { MockupStore } from 'backstage-plugin-mockup-node';
import { createMockups, mockupStores } from '../__testUtils__/mockupStores';
import { ALICE } from '../__testUtils__/startMockupBackend';

const databases = createTestDatabases();

describe.each(mockupStores(databases))(
  'versions in a mockup store on %s',
  (_name, createStore) => {
    let store: MockupStore;

    beforeEach(async () => {
      store = await createStore();
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
