import { Client, DatabaseError } from 'pg';
import type { ClientConfig } from 'pg';
import { TenancyStartupError } from './TenancyStartupError';

// A server that is unreachable may not answer at all.
const CONNECT_TIMEOUT_MS = 10_000;

/** Connects, uses the connection, and closes it whatever happens. */
export async function withClient<T>(
  connection: ClientConfig,
  use: (client: Client) => Promise<T>,
): Promise<T> {
  const client = new Client({
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    ...connection,
  });
  // Without a listener a connection that is lost would end the process. The query
  // at work fails as well, and that is what is reported.
  client.on('error', () => {});
  try {
    await client.connect();
    return await use(client);
  } catch (error) {
    throw explainFault(error);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/**
 * A fault of the database in words. What it says itself may name hosts, and its
 * fields hold SQL.
 */
export function explainFault(error: unknown): Error {
  const code = codeOf(error);
  if (code === undefined) {
    return error instanceof Error ? error : new Error(String(error));
  }
  const advice = code.startsWith('28')
    ? 'it refuses the user or the password. Check backend.database.connection.'
    : 'see that it runs, and check backend.database.connection.';
  return new TenancyStartupError(
    `The database of the catalog can't be used (${code}): ${advice}`,
  );
}

/** Of a fault of the database or the network. */
function codeOf(error: unknown): string | undefined {
  const { code, errors, message } = (error ?? {}) as {
    code?: unknown;
    errors?: unknown[];
    message?: unknown;
  };
  if (error instanceof DatabaseError || typeof code === 'string') {
    return typeof code === 'string' ? code : 'unknown';
  }
  // Of the driver, which gives it no code.
  if (/timeout expired|Connection terminated/.test(String(message))) {
    return 'no answer';
  }
  return errors?.map(codeOf).find(found => found !== undefined);
}
