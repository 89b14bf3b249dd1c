import { createTestDatabases } from '@internal/postgres/testUtils';
import type { MockupStore } from 'backstage-plugin-mockup-node';
import { createMockups, mockupStores } from '../__testUtils__/mockupStores';
import {
  ALICE,
  BOB,
  item,
  UNKNOWN_ID,
} from '../__testUtils__/startMockupBackend';

const databases = createTestDatabases();

describe.each(mockupStores(databases))(
  'a mockup store on %s',
  (_name, createStore) => {
    let store: MockupStore;

    beforeEach(async () => {
      store = await createStore();
    });

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
        const [{ id }] = await createMockups(store, 'x');
        await store.saveVersion(id, { layoutData: [] }, { createdBy: ALICE });
        const second = await store.saveVersion(
          id,
          { layoutData: [item()], versionTag: 'v2' },
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
        const [{ id }] = await createMockups(store, 'x');
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
        const [{ id }] = await createMockups(store, 'x');
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
  },
);
