import { createTestDatabases } from '@internal/postgres/testUtils';
import type { MockupStore } from 'backstage-plugin-mockup-node';
import { createMockups, mockupStores } from '../__testUtils__/mockupStores';
import { ALICE, BOB, item } from '../__testUtils__/startMockupBackend';

const databases = createTestDatabases();

describe.each(mockupStores(databases))(
  'the history of mockups in a store on %s',
  (_name, createStore) => {
    let store: MockupStore;

    beforeEach(async () => {
      store = await createStore();
    });

    /** Saves a version of Alice. */
    async function save(mockupId: string, versionTag: string) {
      const saved = await store.saveVersion(
        mockupId,
        {
          layoutData: [item({ props: { versionTag } })],
          versionTag,
          message: `What ${versionTag} has changed`,
        },
        { createdBy: ALICE },
      );
      return saved!;
    }

    describe('duplicating a mockup', () => {
      /** A mockup of Alice with three versions, the last one restored from the first. */
      async function original() {
        const { mockup } = await store.create(
          { name: 'Checkout', description: 'The last step' },
          { owner: ALICE },
        );
        const { version: first } = await save(mockup.id, 'first');
        await save(mockup.id, 'second');
        const third = await store.restoreVersion(mockup.id, first.id, {
          createdBy: BOB,
        });
        await store.updateVersion(mockup.id, third!.version.id, {
          versionTag: 'third',
        });
        return (await store.get(mockup.id))!;
      }

      it('copies all versions where the history is asked for', async () => {
        const before = await original();
        const copy = await store.duplicate(
          before.mockup.id,
          { name: 'Basket', withHistory: true },
          { owner: BOB },
        );
        const { id } = copy!.mockup;
        expect(copy?.mockup).toMatchObject({ name: 'Basket', owner: BOB });
        await expect(store.get(id)).resolves.toEqual(copy);

        const originals = (await store.listVersions(before.mockup.id))!.items;
        const copies = (await store.listVersions(id))!.items;
        expect(copy?.mockup.latestVersion).toEqual(copies[0]);
        expect(copies).toEqual(
          originals.map((version, index) => ({
            ...version,
            id: copies[index].id,
            mockupId: id,
            ...(version.restoredFrom && { restoredFrom: copies[2].id }),
          })),
        );
        expect(
          new Set([...originals, ...copies].map(each => each.id)).size,
        ).toBe(6);
      });

      it.each([true, false])(
        'leaves copy and original apart afterwards (with history: %j)',
        async withHistory => {
          const before = await original();
          const copy = await store.duplicate(
            before.mockup.id,
            { withHistory },
            { owner: BOB },
          );
          const { id, latestVersion } = copy!.mockup;
          const { version } = await save(id, 'next');
          await store.updateVersion(id, latestVersion!.id, {
            versionTag: 'renamed',
          });
          await expect(store.getLatestVersion(id)).resolves.toEqual(version);
          await expect(store.get(before.mockup.id)).resolves.toEqual(before);
          await store.delete(before.mockup.id);
          await expect(store.getLatestVersion(id)).resolves.toEqual(version);
          await expect(store.list({ search: 'CHECK' })).resolves.toMatchObject({
            items: [{ id }],
          });
        },
      );

      it('shortens a name that would become too long', async () => {
        const [{ id }] = await createMockups(store, '🙂'.repeat(255));
        const copy = await store.duplicate(id, {}, { owner: BOB });
        expect(copy?.mockup.name).toBe(`${'🙂'.repeat(248)} (copy)`);
      });
    });
  },
);
