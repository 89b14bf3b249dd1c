import type {
  TestDatabaseId,
  TestDatabases,
} from '@internal/postgres/testUtils';
import { Client, type ClientConfig } from 'pg';
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
  await withDatabase(connection, client =>
    client.query('drop schema tenancy cascade'),
  );
  return connection;
}

/** Connects to a database beside the backend. */
export async function withDatabase<T>(
  connection: ClientConfig,
  use: (client: Client) => Promise<T>,
): Promise<T> {
  const client = new Client(connection);
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}
