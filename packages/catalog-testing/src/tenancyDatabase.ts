import { resolvePackagePath } from '@backstage/backend-plugin-api';
import type {
  DatabaseTemplate,
  TestDatabaseId,
  TestDatabases,
} from '@internal/postgres/testUtils';
import { distribute, migrateTo } from 'backstage-catalog-tenancy-migrations';
import createKnex from 'knex';
import { Client, type ClientConfig, DatabaseError } from 'pg';

export const APPLICATION = { user: 'portal_app', password: 'only-for-tests' };

const MIGRATED: DatabaseTemplate = {
  name: 'catalogs of tenants, empty',
  prepare: async (connection, id) => {
    await migrateTo(5, {
      connection,
      schema: 'tenancy',
      createTables: true,
      // Their triggers would follow the distributed tables.
      keepOldTables: id !== 'CITUS',
    });
    if (id === 'CITUS') {
      await distribute({ connection, schema: 'tenancy' });
    }
  },
};

const WITH_STOCK_TABLES: DatabaseTemplate = {
  name: `${MIGRATED.name}, beside an empty stock catalog`,
  prepare: async (connection, id) => {
    await MIGRATED.prepare(connection, id);
    const { host, port, user, password, ssl, database } = connection;
    const knex = createKnex({
      client: 'pg',
      connection: { host, port, user, password, ssl, database },
    });
    try {
      await knex.migrate.latest({
        directory: resolvePackagePath(
          '@backstage/plugin-catalog-backend',
          'migrations',
        ),
      });
    } finally {
      await knex.destroy();
    }
  },
};

/**
 * A new database on the server `id` with the tables of tenants, as its superuser. The
 * tables of the stock catalog are there too, which each backend would create when it starts.
 *
 * @param options - `stockTables`: false for the tables of tenants alone
 */
export async function createTenancyDatabase(
  databases: TestDatabases,
  id: TestDatabaseId,
  options: { stockTables?: boolean } = {},
): Promise<ClientConfig> {
  const { stockTables = true } = options;
  const connection = await databases.create(
    id,
    stockTables ? WITH_STOCK_TABLES : MIGRATED,
  );
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
