import { changeRole } from '@internal/postgres/testUtils';
import { Client } from 'pg';
import type { CatalogDatabase } from './catalogDatabase';

const PASSWORD = 'only-for-tests';

/** The connection of a login, which gets a password for it. */
export async function connectionOf(
  database: CatalogDatabase,
  login: string,
): Promise<CatalogDatabase['connection']> {
  await changeRole(
    database.client,
    `alter role ${login} password '${PASSWORD}'`,
  );
  return { ...database.connection, user: login, password: PASSWORD };
}

/** Works on a connection of a login, in the schema, and closes it. */
export async function asLogin<T>(
  database: CatalogDatabase,
  login: string,
  use: (client: Client) => Promise<T>,
): Promise<T> {
  const client = new Client(await connectionOf(database, login));
  await client.connect();
  try {
    await client.query('set search_path = tenancy');
    return await use(client);
  } finally {
    await client.end();
  }
}
