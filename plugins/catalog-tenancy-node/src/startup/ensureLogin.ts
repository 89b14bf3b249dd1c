import type { ClientConfig } from 'pg';
import { explainFault, withClient } from './catalogConnection';
import { CONNECT_AS_APP } from './checkDatabase';
import { APP_ROLE } from './layout';

/**
 * Logs in once before the pool does, because the pool's error would not say why it cannot
 * connect.
 */
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
