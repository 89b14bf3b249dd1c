import {
  type TestDatabaseId,
  type TestDatabases,
  withClient,
} from '@internal/postgres/testUtils';
import type { ClientConfig } from 'pg';
import { createTenancyDatabase } from './tenancyDatabase';

/** A new database on the server `id` without any tables, as its superuser. */
export async function createEmptyDatabase(
  databases: TestDatabases,
  id: TestDatabaseId,
): Promise<ClientConfig> {
  // Makes the roles, which belong to the server.
  const connection = await createTenancyDatabase(databases, id, {
    stockTables: false,
  });
  await withClient(connection, client =>
    client.query('drop schema tenancy cascade'),
  );
  return connection;
}
