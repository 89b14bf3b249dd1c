import { Client, DatabaseError } from 'pg';
import type { ClientConfig } from 'pg';
import { ConnectionError, ConnectionLostError } from '../errors';

// Terminated, crash, shutdown or start of the server (57P01 to 57P03), a timeout that
// ends sessions (57P05, 25P03, 25P04), and class 08: the connection.
const SESSION_ENDED = /^(57P0[1235]|25P0[34]|08)/;

// Of the driver, whose errors have no code.
const TIMED_OUT = /^timeout expired$|connection timeout/;

/** The server, the database or the login has no session left. */
const TOO_MANY = '53300';

/** By the code of PostgreSQL or of the system; where to do it follows. */
const ADVICE: Record<string, string | undefined> = {
  '28P01': 'Check the user and the password',
  '28000': 'Have pg_hba.conf of the server admit it, or check the user',
  '3D000': 'Create it, or check the name',
  '42501': 'Let its owner grant CONNECT on it, or check the user',
  ECONNREFUSED: 'Start the server, or check the host and the port',
  ETIMEDOUT: 'Start the server, or check the host, the port and the firewall',
  ENOENT: 'Start the server, or check the folder of its socket and the port',
  ENOTFOUND: 'Check the host',
  EAI_AGAIN: 'Check the host',
};

/** Whether the server has ended the session, or takes none. */
export function endsSession(error: unknown): error is DatabaseError {
  return error instanceof DatabaseError && SESSION_ENDED.test(error.code ?? '');
}

/** Explains why a database could not be connected to: a command may connect to several. */
export function explainConnect(
  error: unknown,
  connection: ClientConfig,
): ConnectionError | ConnectionLostError {
  // With libpq's environment variables; without `stream`, which would be opened.
  const { host, port, user, database } = new Client({
    ...connection,
    stream: undefined,
  });
  const place = `the database "${database}" at ${host}:${port}`;
  if (
    endsSession(error) ||
    (error instanceof DatabaseError && error.code === TOO_MANY)
  ) {
    return new ConnectionLostError(
      `The server of ${place} takes no connections now (${error.message}). Nothing ` +
        'was done: run the same command again when it does.',
    );
  }
  // A host name with several addresses has an error for each.
  const [first] = (error as AggregateError).errors ?? [error];
  const isSilent = TIMED_OUT.test(first.message);
  const code = isSilent ? 'ETIMEDOUT' : first.code;
  return new ConnectionError(
    `Can't connect to ${place} as "${user}": ${
      isSilent ? 'no answer in time' : first.message
    }. ${
      ADVICE[code] ?? 'Check the connection'
    } in the URL, the configuration or the environment.`,
  );
}
