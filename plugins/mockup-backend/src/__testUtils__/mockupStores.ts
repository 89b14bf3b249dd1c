import { mockServices } from '@backstage/backend-test-utils';
import type {
  TestDatabaseId,
  TestDatabases,
} from '@internal/postgres/testUtils';
import type { Mockup } from 'backstage-plugin-mockup-common';
import type { MockupStore } from 'backstage-plugin-mockup-node';
import { mockupStoreServiceMock } from 'backstage-plugin-mockup-node/testUtils';
import type { Knex } from 'knex';
import { openMockupStores } from '../database/openMockupStores';
import { ALICE } from './startMockupBackend';

/**
 * Every implementation of the mockup store, by name, with a way to get an empty
 * one. They share one contract: other plugins test against the one in memory, so it
 * has to behave like the real one.
 */
export function mockupStores(
  databases: TestDatabases,
): [string, () => Promise<MockupStore>][] {
  return [
    ...databases
      .eachSupportedId()
      .flatMap(([id]): [string, () => Promise<MockupStore>][] => [
        [id, emptyStoreOn(databases, id, { multiTenant: false })],
        [
          `${id} with tenants`,
          emptyStoreOn(databases, id, { multiTenant: true }),
        ],
      ]),
    ['in memory', async () => mockupStoreServiceMock().forDefaultTenant()],
  ];
}

function emptyStoreOn(
  databases: TestDatabases,
  id: TestDatabaseId,
  { multiTenant }: { multiTenant: boolean },
): () => Promise<MockupStore> {
  let opened: Promise<Knex> | undefined;
  return async () => {
    opened ??= databases.init(id);
    const knex = await opened;
    const stores = await openMockupStores({
      database: mockServices.database({ knex }),
      logger: mockServices.logger.mock(),
      multiTenant,
    });
    await knex('mockups').delete();
    return stores.forDefaultTenant();
  };
}

/** Creates mockups of Alice one after the other, and returns them. */
export async function createMockups(
  store: MockupStore,
  ...names: string[]
): Promise<Mockup[]> {
  const created = [];
  for (const name of names) {
    const { mockup } = await store.create({ name }, { owner: ALICE });
    created.push(mockup);
  }
  return created;
}
