import { Client, type ClientConfig } from 'pg';

/** Connects to a database, and ends the session when the work is done. */
export async function withClient<T>(
  connection: ClientConfig | string,
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
