import type {
  DatabaseTemplate,
  TestDatabaseId,
  TestDatabases,
} from '@internal/postgres/testUtils';
import { migrateTo } from 'backstage-catalog-tenancy-migrations';
import { Client, type ClientConfig, DatabaseError } from 'pg';

export const APPLICATION = { user: 'portal_app', password: 'only-for-tests' };

const MIGRATED: DatabaseTemplate = {
  name: 'catalogs of tenants, empty',
  prepare: async connection => {
    await migrateTo(5, { connection, schema: 'tenancy', createTables: true });
  },
};

/** A new database on the server `id` with the tables of tenants, as its superuser. */
export async function createTenancyDatabase(
  databases: TestDatabases,
  id: TestDatabaseId,
): Promise<ClientConfig> {
  const connection = await databases.create(id, MIGRATED);
  const client = new Client(connection);
  await client.connect();
  try {
    await allowLogin(client);
  } finally {
    await client.end();
  }
  return connection;
}

/**
 * Gives the application its password. Roles belong to the server, where other test
 * files may be at the same one.
 */
export async function allowLogin(client: Client): Promise<void> {
  const { user, password } = APPLICATION;
  for (let attempt = 1; ; attempt += 1) {
    try {
      await client.query(`alter role ${user} password '${password}'`);
      return;
    } catch (error) {
      const concurrent =
        error instanceof DatabaseError && error.code === 'XX000';
      if (!concurrent || attempt === 20) {
        throw error;
      }
    }
  }
}
