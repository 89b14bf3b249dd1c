import { resolvePackagePath } from '@backstage/backend-plugin-api';
import {
  changeRole,
  type DatabaseTemplate,
  type TestDatabaseId,
  type TestDatabases,
} from '@internal/postgres/testUtils';
import { distribute, migrateTo } from 'backstage-catalog-tenancy-migrations';
import createKnex from 'knex';
import { Client, type ClientConfig } from 'pg';

export const APPLICATION = { user: 'portal_app', password: 'only-for-tests' };

const migrated = (distributed: boolean): DatabaseTemplate => ({
  name: `catalogs of tenants, empty${distributed ? ', on nodes' : ''}`,
  prepare: async (connection, id) => {
    await migrateTo(5, {
      connection,
      schema: 'tenancy',
      createTables: true,
      // Their triggers would follow the distributed tables.
      keepOldTables: id !== 'CITUS',
    });
    if (distributed) {
      await distribute({ connection, schema: 'tenancy' });
    }
  },
});

const besideStockTables = (template: DatabaseTemplate): DatabaseTemplate => ({
  name: `${template.name}, beside an empty stock catalog`,
  prepare: async (connection, id) => {
    await template.prepare(connection, id);
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
});

/**
 * A new database on the server `id` with the tables of tenants, as its superuser. The
 * tables of the stock catalog are there too, which each backend would create when it starts.
 *
 * @param options - `stockTables`: false for the tables of tenants alone; `distributed`: false for
 * tables that Citus is to distribute later
 */
export async function createTenancyDatabase(
  databases: TestDatabases,
  id: TestDatabaseId,
  options: { stockTables?: boolean; distributed?: boolean } = {},
): Promise<ClientConfig> {
  const { stockTables = true, distributed = id === 'CITUS' } = options;
  const template = migrated(distributed);
  const connection = await databases.create(
    id,
    stockTables ? besideStockTables(template) : template,
  );
  const client = new Client(connection);
  await client.connect();
  try {
    await allowLogin(client);
    if (distributed) {
      // A test of another file may have undone a distribution, which takes it from all databases.
      await changeRole(client, 'alter role portal_admin login');
    }
  } finally {
    await client.end();
  }
  return connection;
}

/** Gives the application its password. */
export async function allowLogin(client: Client): Promise<void> {
  const { user, password } = APPLICATION;
  await changeRole(client, `alter role ${user} password '${password}'`);
}
