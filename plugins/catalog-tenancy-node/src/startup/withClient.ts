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
    // Not enumerable where it was hidden.
    password: connection.password,
  });
  // Without a listener a connection that is lost would end the process. The query
  // at work fails as well, and that is what is reported.
  client.on('error', () => {});
  try {
    await client.connect();
    return await use(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/**
 * Tells a fault of the database or the network by its code, and nothing else: its
 * message may name hosts, and its fields hold SQL.
 */
export function faultCode(error: unknown): string | undefined {
  const { code, errors, message } = (error ?? {}) as {
    code?: unknown;
    errors?: unknown[];
    message?: unknown;
  };
  if (typeof code === 'string') {
    return code;
  }
  // Of the driver, which gives them no code.
  if (
    error instanceof DatabaseError ||
    /timeout expired|Connection terminated|SASL/.test(String(message))
  ) {
    return 'no answer that is understood';
  }
  // A name with several addresses has a fault for each.
  return errors?.map(faultCode).find(found => found !== undefined);
}

/** A fault of the database in words; what is none of these stays as it is. */
export function explainFault(
  error: unknown,
  database: { name: string; key: string; login: string },
): unknown {
  const code = faultCode(error);
  if (error instanceof TenancyStartupError || code === undefined) {
    return error;
  }
  const { name, key, login } = database;
  const advice = code.startsWith('28') ? login : 'see that it runs';
  return new TenancyStartupError(
    `${name} can't be used (${code}): ${advice}, and check '${key}'`,
  );
}
