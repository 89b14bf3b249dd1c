import { changeRole, withClient } from '@internal/postgres/testUtils';
import type { Client } from 'pg';
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
  return withClient(await connectionOf(database, login), async client => {
    await client.query('set search_path = tenancy');
    return await use(client);
  });
}
