import { Client } from 'pg';
import type { ClientConfig } from 'pg';
import { atMost } from '../atMost';
import { MigrationError, RefusedError } from '../errors';

// A pooler without a free connection makes the second one wait.
const PROBE_MS = 10_000;

// The connection that the first round is about may be lent to a client of others just then.
const ROUNDS = 3;

const ADVICE =
  'Connect to the server itself, or have the pooler keep sessions (PgBouncer: pool_mode = session).';

const PROCESS = 'select pg_catalog.pg_backend_pid() as pid';

interface Session {
  query<Row>(text: string): Promise<Row[]>;
}

/**
 * Whether a pooler between a connection and the server lends the connection's process to others:
 * one of transactions gives that of an idle connection to the next one that begins a transaction.
 *
 * @param pid - the process of the connection a moment ago
 * @param own - asks for it again
 * @param signal - gives the second connection up
 * @throws the error of the second connection
 * @public
 */
export async function isProcessLent(
  pid: number,
  own: () => Promise<number>,
  connection: ClientConfig,
  signal?: AbortSignal,
): Promise<boolean> {
  const other = new Client({
    ...connection,
    // Not enumerable where it was hidden.
    password: connection.password,
    connectionTimeoutMillis: PROBE_MS,
    query_timeout: PROBE_MS,
  });
  other.on('error', () => undefined);
  const giveUp = () => other.connection.stream.destroy();
  signal?.addEventListener('abort', giveUp);
  try {
    await other.connect();
    for (let round = 0; round < ROUNDS; round += 1) {
      await other.query('begin');
      const { rows } = await other.query<{ pid: number }>(PROCESS);
      // In this order: where the server has one process for all, the connection waits.
      if (rows[0].pid === pid || (await own()) !== pid) {
        return true;
      }
      await other.query('rollback');
    }
    return false;
  } finally {
    signal?.removeEventListener('abort', giveUp);
    await atMost(PROBE_MS, [other.end()]);
  }
}

/**
 * Makes sure that a connection is a session of the server, before it is given any setting: a
 * pooler of transactions would pass the settings on to other clients, and the operator's lock.
 *
 * @param greeting - the process that the greeting named: a pooler names one of its own there
 * @returns the process of the server
 * @throws {@link RefusedError} where processes are lent
 */
export async function requireSession(
  session: Session,
  connection: ClientConfig,
  greeting: number | undefined,
): Promise<number> {
  const own = async () => {
    const [{ pid }] = await session.query<{ pid: number }>(PROCESS);
    return pid;
  };
  const pid = await own();
  if (pid === greeting) {
    return pid;
  }
  const isLent = await isProcessLent(pid, own, connection).catch(error => {
    throw error instanceof MigrationError
      ? error
      : new RefusedError(
          `The connection is pooled, and a second one, which would tell how, fails: ${error.message}. ${ADVICE}`,
        );
  });
  if (isLent) {
    throw new RefusedError(
      `The connection is pooled by transactions, and a command needs a session. ${ADVICE}`,
    );
  }
  return pid;
}
