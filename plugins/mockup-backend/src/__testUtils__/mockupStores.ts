import type { LoggerService } from '@backstage/backend-plugin-api';
import { mockServices } from '@backstage/backend-test-utils';
import type {
  TestDatabaseId,
  TestDatabases,
} from '@internal/postgres/testUtils';
import type { Mockup } from 'backstage-plugin-mockup-common';
import type { MockupStore } from 'backstage-plugin-mockup-node';
import type { Knex } from 'knex';
import {
  type OpenStores,
  openMockupStores,
} from '../database/openMockupStores';
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
  const open = storesOpener();
  let opened: Promise<{ knex: Knex; stores: OpenStores }> | undefined;
  const init = async () => {
    const knex = await databases.init(id);
    return { knex, stores: await open(knex, { multiTenant }) };
  };
  return async () => {
    opened ??= init();
    const { knex, stores } = await opened;
    await knex('mockups').delete();
    return stores.forDefaultTenant();
  };
}

/** Opens stores, which are closed when the tests of the file, or of the block, are over. */
export function storesOpener() {
  const opened: OpenStores[] = [];
  afterAll(async () => {
    await Promise.all(opened.map(stores => stores.close()));
  });
  return async (
    knex: Knex,
    options: {
      multiTenant?: boolean;
      logger?: LoggerService;
      trashRetentionMs?: number;
    } = {},
  ): Promise<OpenStores> => {
    const stores = await openMockupStores({
      database: mockServices.database({ knex }),
      logger: mockServices.logger.mock(),
      multiTenant: true,
      ...options,
    });
    opened.push(stores);
    return stores;
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
