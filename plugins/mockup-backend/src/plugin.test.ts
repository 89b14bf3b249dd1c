import { createBackendPlugin } from '@backstage/backend-plugin-api';
import { mockServices, startTestBackend } from '@backstage/backend-test-utils';
import { createTestDatabases } from '@internal/postgres/testUtils';
import {
  type MockupStore,
  mockupStoreServiceRef,
} from 'backstage-plugin-mockup-node';
import { mockupStoreServiceMock } from 'backstage-plugin-mockup-node/testUtils';
import createKnex, { type Knex } from 'knex';
import {
  ALICE,
  item,
  type MockupBackend,
  startMockupBackend,
} from './__testUtils__/startMockupBackend';

const databases = createTestDatabases({ versions: 'newest' });

/** Another plugin of the same backend, which keeps the default tenant's store. */
function pluginThatHolds(hold: (store: MockupStore) => void) {
  return createBackendPlugin({
    pluginId: 'other',
    register(env) {
      env.registerInit({
        deps: { stores: mockupStoreServiceRef },
        async init({ stores }) {
          hold(stores.forDefaultTenant());
        },
      });
    },
  });
}

describe('mockup plugin', () => {
  it.each(['better-sqlite3', 'mysql2', 'cockroachdb'])(
    'refuses to start on the database client %s',
    async client => {
      const other = createKnex({ client: 'cockroachdb' });
      other.client.config.client = client;
      await expect(startMockupBackend({ knex: other })).rejects.toThrow(
        `The mockup plugin needs PostgreSQL, but its database client is '${client}'`,
      );
    },
  );

  it.each([0, -1, 1.5])(
    'refuses to start where an import may have %p bytes',
    async maxBytes => {
      const knex = await databases.init(databases.eachSupportedId()[0][0]);
      await expect(
        startMockupBackend({
          knex,
          features: [
            mockServices.rootConfig.factory({
              data: { mockup: { import: { maxBytes } } },
            }),
          ],
        }),
      ).rejects.toThrow(
        `The configuration mockup.import.maxBytes is ${maxBytes}. Expected a whole number of 1 or more.`,
      );
    },
  );

  it('refuses to start with a key that is unknown', async () => {
    const knex = await databases.init(databases.eachSupportedId()[0][0]);
    await expect(
      startMockupBackend({
        knex,
        features: [
          mockServices.rootConfig.factory({
            data: { mockup: { trash: { retentoin: '1d' } } },
          }),
        ],
      }),
    ).rejects.toThrow(
      'The configuration mockup.trash.retentoin is unknown. Expected one of: retention.',
    );
  });

  it('names the store as missing where another plugin needs it alone', async () => {
    await expect(
      startTestBackend({ features: [pluginThatHolds(() => {})] }),
    ).rejects.toThrow('mockup.store');
  });

  it('lets other plugins test against stores that they say', async () => {
    let store: MockupStore | undefined;
    const page = { items: [], totalItems: 7 };
    const stores = mockupStoreServiceMock.mock({ list: async () => page });
    await startTestBackend({
      features: [
        pluginThatHolds(given => {
          store = given;
        }),
        stores.factory,
      ],
    });
    await expect(store!.list()).resolves.toBe(page);
  });
});

describe.each(databases.eachSupportedId())('mockup plugin on %s', id => {
  let knex: Knex;
  let backend: MockupBackend;
  let store: MockupStore;

  beforeAll(async () => {
    knex = await databases.init(id);
    backend = await startMockupBackend({
      knex,
      features: [
        pluginThatHolds(given => {
          store = given;
        }),
      ],
    });
  });

  it('gives other plugins the store that it serves', async () => {
    const { body } = await backend.alice.post('/mockups', { name: 'x' });
    const saved = await store.saveVersion(
      body.id,
      { layoutData: [item()] },
      { createdBy: ALICE },
    );
    const found = await backend.alice.get(`/mockups/${body.id}`);
    expect(found.body.latestVersion).toEqual(saved?.version);
    await expect(store.get(body.id)).resolves.toMatchObject({
      mockup: found.body,
    });
  });
});
