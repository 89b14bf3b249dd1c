import { mockServices } from '@backstage/backend-test-utils';
import type {
  TestDatabaseId,
  TestDatabases,
} from '@internal/postgres/testUtils';
import type { Mockup } from 'backstage-plugin-mockup-common';
import type { MockupStore } from 'backstage-plugin-mockup-node';
import type { Knex } from 'knex';
import { openMockupStores } from '../database/openMockupStores';
import { ALICE } from './startMockupBackend';

/** The mockup store without tenants and with them, by name, with a way to get an empty one. */
export function mockupStores(
  databases: TestDatabases,
): [string, () => Promise<MockupStore>][] {
  return databases
    .eachSupportedId()
    .flatMap(([id]): [string, () => Promise<MockupStore>][] => [
      [id, emptyStoreOn(databases, id, { multiTenant: false })],
      [
        `${id} with tenants`,
        emptyStoreOn(databases, id, { multiTenant: true }),
      ],
    ]);
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
