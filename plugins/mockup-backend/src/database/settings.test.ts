import {
  alterDatabase,
  createTestDatabases,
  HOSTILE_SETTINGS,
} from '@internal/postgres/testUtils';
import type { MockupStore } from 'backstage-plugin-mockup-node';
import { ALICE } from '../__testUtils__/startMockupBackend';
import { storesOpener } from '../__testUtils__/mockupStores';

const databases = createTestDatabases({ versions: 'every' });

describe.each(
  databases
    .eachSupportedId()
    .flatMap(([id]) => [false, true].map(multiTenant => ({ id, multiTenant }))),
)(
  'Whatever the database sets for its sessions on $id, with tenants: $multiTenant,',
  ({ id, multiTenant }) => {
    const open = storesOpener();
    let store: MockupStore;
    beforeAll(async () => {
      const knex = await databases.init(id);
      await alterDatabase(knex.client.config.connection, HOSTILE_SETTINGS);
      await knex.destroy();
      await knex.initialize();
      const stores = await open(knex, { multiTenant });
      store = stores.forDefaultTenant();
    });

    it('a mockup is what was saved', async () => {
      const before = Date.now();
      const { mockup } = await store.create(
        { name: 'A \\ and a "quote"', description: `it's` },
        { owner: ALICE },
      );
      const layoutData = [
        {
          ...{ i: 'a', x: 0, y: 0, w: 1, h: 1 },
          component: 'Text',
          props: { n: 0.1, s: '\\' },
        },
      ];
      await store.saveVersion(mockup.id, { layoutData }, { createdBy: ALICE });
      const found = await store.get(mockup.id);
      expect(found?.mockup).toMatchObject({
        name: 'A \\ and a "quote"',
        description: `it's`,
      });
      expect(
        Math.abs(Date.parse(found!.mockup.createdAt) - before),
      ).toBeLessThan(300_000);
      const latest = await store.getLatestVersion(mockup.id);
      expect(latest?.layoutData).toEqual(layoutData);
    });

    it('writes that wait for each other all succeed', async () => {
      const { mockup } = await store.create({ name: 'x' }, { owner: ALICE });
      await Promise.all(
        Array.from({ length: 10 }, (_, n) =>
          store.saveVersion(
            mockup.id,
            { layoutData: [], versionTag: `v${n}` },
            { createdBy: ALICE },
          ),
        ),
      );
      const page = await store.listVersions(mockup.id);
      expect(page?.items).toHaveLength(10);
    });

    it('of writes at the same revision one succeeds, and the others learn why not', async () => {
      const { mockup, revision } = await store.create(
        { name: 'x' },
        { owner: ALICE },
      );
      const outcomes = await Promise.allSettled(
        Array.from({ length: 5 }, (_, n) =>
          store.update(
            mockup.id,
            { name: `name ${n}` },
            { ifRevisionIn: [revision] },
          ),
        ),
      );
      expect(
        outcomes
          .map(outcome =>
            outcome.status === 'fulfilled' ? 'done' : outcome.reason.name,
          )
          .sort(),
      ).toEqual([
        ...Array.from({ length: 4 }, () => 'PreconditionFailedError'),
        'done',
      ]);
    });
  },
);
