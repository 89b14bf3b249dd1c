import type { ClientConfig } from 'pg';
import { explainFault, withClient } from './catalogConnection';
import { CONNECT_AS_APP } from './checkDatabase';
import { APP_ROLE } from './layout';

/** Before the pool does, which would only say that there is no connection. */
export async function ensureLogin(
  connection: ClientConfig,
  catalog: ClientConfig,
): Promise<void> {
  try {
    await withClient(connection, async () => undefined);
  } catch (error) {
    const isForgotten =
      connection.user === catalog.user && connection.user !== APP_ROLE;
    throw explainFault(error, {
      name: `The database, as the user '${connection.user}',`,
      key: 'tenancy.database.connection',
      login: isForgotten
        ? CONNECT_AS_APP
        : 'give the user a password (\\password in psql), and the backend the same',
    });
  }
}
