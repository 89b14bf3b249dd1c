import { createTestDatabases } from '@internal/postgres/testUtils';
import type { MockupStore } from 'backstage-plugin-mockup-node';
import { createMockups, mockupStores } from '../__testUtils__/mockupStores';
import { ALICE, BOB, item } from '../__testUtils__/startMockupBackend';

const databases = createTestDatabases();

describe.each(mockupStores(databases))(
  'the trash of a store on %s',
  (_name, createStore) => {
    let store: MockupStore;

    beforeEach(async () => {
      store = await createStore();
      const { items } = await store.listTrash({ limit: 500 });
      await Promise.all(items.map(({ id }) => store.purge(id)));
    });

    const save = (mockupId: string, versionTag: string) =>
      store.saveVersion(
        mockupId,
        {
          layoutData: [item({ props: { versionTag } })],
          versionTag,
          message: 'Why',
        },
        { createdBy: BOB },
      );
    const namesInTrash = async (
      options?: Parameters<MockupStore['listTrash']>[0],
    ) => (await store.listTrash(options)).items.map(({ name }) => name);

    it('gives a mockup back as it was, in a new state', async () => {
      const [{ id }] = await createMockups(store, 'x');
      const { version: first } = (await save(id, 'first'))!;
      await store.restoreVersion(id, first.id, {}, { createdBy: ALICE });
      const before = (await store.get(id))!;
      const versions = await store.listVersions(id);

      await store.delete(id, { deletedBy: BOB });
      const restored = (await store.restore(id))!;
      expect(restored.mockup).toEqual({
        ...before.mockup,
        latestVersion: undefined,
        updatedAt: restored.mockup.updatedAt,
      });
      expect(restored.revision).not.toBe(before.revision);
      await expect(store.get(id)).resolves.toEqual({
        mockup: {
          ...before.mockup,
          updatedAt: restored.mockup.updatedAt,
        },
        revision: restored.revision,
      });
      await expect(store.listVersions(id)).resolves.toEqual(versions);
      await expect(namesInTrash()).resolves.toEqual([]);
      await expect(store.list({ search: 'X' })).resolves.toMatchObject({
        totalItems: 1,
      });
      await expect(save(id, 'after')).resolves.toMatchObject({
        version: { versionTag: 'after' },
      });
      // Whoever read it before it was deleted, does not overwrite it.
      await expect(
        store.update(id, { name: 'y' }, { ifRevisionIn: [before.revision] }),
      ).rejects.toMatchObject({ name: 'PreconditionFailedError' });
    });

    it('lists the most recently deleted first, page by page', async () => {
      const mockups = await createMockups(store, 'a', 'b', 'c');
      for (const index of [1, 0, 2]) {
        await store.delete(mockups[index].id);
      }
      await expect(namesInTrash()).resolves.toEqual(['c', 'a', 'b']);
      const first = await store.listTrash({ limit: 2 });
      expect(first.items.map(({ name }) => name)).toEqual(['c', 'a']);
      for (const start of [{ offset: 2 }, { cursor: first.nextCursor }]) {
        const rest = await store.listTrash({ limit: 2, ...start });
        expect(rest).toMatchObject({ items: [{ name: 'b' }], totalItems: 3 });
        expect(rest.nextCursor).toBeUndefined();
      }
      await expect(
        store.listTrash({ search: 'a', cursor: first.nextCursor }),
      ).rejects.toThrow(/cursor/);
    });

    it('gives a mockup to one of those who restore or purge it at once', async () => {
      const [{ id }] = await createMockups(store, 'x');
      await save(id, 'first');
      await store.delete(id);
      const outcomes = await Promise.all([
        store.restore(id),
        store.restore(id),
        store.purge(id),
        store.restore(id),
      ]);
      expect(outcomes.filter(Boolean)).toHaveLength(1);
      const isPurged = outcomes[2] === true;
      await expect(store.list()).resolves.toMatchObject({
        totalItems: isPurged ? 0 : 1,
      });
      await expect(namesInTrash()).resolves.toEqual([]);
    });

    it('has every version that was saved while the mockup was deleted', async () => {
      const [{ id }] = await createMockups(store, 'x');
      const outcomes = await Promise.all([
        save(id, '1'),
        save(id, '2'),
        store.delete(id),
        save(id, '3'),
        save(id, '4'),
      ]);
      const saved = outcomes.filter(
        outcome => typeof outcome === 'object',
      ).length;
      await store.restore(id);
      await expect(store.listVersions(id)).resolves.toMatchObject({
        totalItems: saved,
      });
    });
  },
);
