import { resolvePackagePath } from '@backstage/backend-plugin-api';
import {
  changeRole,
  type DatabaseTemplate,
  SINGLE_TENANT_TABLES,
  type TestDatabaseId,
  type TestDatabases,
  withClient,
} from '@internal/postgres/testUtils';
import { distribute, migrateTo } from 'backstage-catalog-tenancy-migrations';
import createKnex from 'knex';
import type { Client, ClientConfig } from 'pg';

export const APPLICATION = { user: 'portal_app', password: 'only-for-tests' };

const migrated = (distributed: boolean): DatabaseTemplate => ({
  name: `catalogs of tenants, empty${distributed ? ', on nodes' : ''}`,
  prepare: async connection => {
    await migrateTo(5, { connection, schema: 'tenancy', createTables: true });
    if (distributed) {
      await distribute({ connection, schema: 'tenancy' });
    }
  },
});

/** Tables that have taken the place of others, to which a rollback goes back. */
const SWAPPED: DatabaseTemplate = {
  name: 'catalogs of tenants, empty, with the tables of before the swap',
  prepare: async connection => {
    await withClient(connection, async client => {
      await client.query(SINGLE_TENANT_TABLES.join(';\n'));
    });
    await migrateTo(5, { connection, schema: 'tenancy' });
  },
};

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
 * tables that Citus is to distribute later; `swapped`: by a migration of tables without tenants
 */
export async function createTenancyDatabase(
  databases: TestDatabases,
  id: TestDatabaseId,
  options: {
    stockTables?: boolean;
    distributed?: boolean;
    swapped?: boolean;
  } = {},
): Promise<ClientConfig> {
  const { stockTables = true, distributed = id === 'CITUS', swapped } = options;
  const template = swapped ? SWAPPED : migrated(distributed);
  const connection = await databases.create(
    id,
    stockTables ? besideStockTables(template) : template,
  );
  await withClient(connection, async client => {
    await allowLogin(client);
    if (distributed) {
      // A test of another file may have undone a distribution, which takes it from all databases.
      await changeRole(client, 'alter role portal_admin login');
    }
  });
  return connection;
}

/** Gives the application its password. */
export async function allowLogin(client: Client): Promise<void> {
  const { user, password } = APPLICATION;
  await changeRole(client, `alter role ${user} password '${password}'`);
}
