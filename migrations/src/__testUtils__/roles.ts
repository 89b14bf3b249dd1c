import { Client, DatabaseError } from 'pg';
import type { CatalogDatabase } from './catalogDatabase';

const PASSWORD = 'only-for-tests';

/**
 * Runs a statement about roles, again where another test file is at the same ones:
 * they belong to the server.
 */
export async function changeRole(
  client: Client,
  statement: string,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await client.query(statement);
      return;
    } catch (error) {
      const code = error instanceof DatabaseError ? error.code ?? '' : '';
      if (['42710', '23505'].includes(code)) {
        return;
      }
      if (code !== 'XX000' || attempt === 20) {
        throw error;
      }
    }
  }
}

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
