import type { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, type PoolClient } from 'pg';

/** How long one attempt may take. */
const ANSWER_MS = 5_000;

/** Between two attempts. */
const AGAIN_MS = 100;

/** What a client of `pg` has beside what its types tell; see `TESTED_PG` of `Batch`. */
interface ClientInternals {
  readonly connectionParameters: object;
  readonly host: string;
  readonly port: number;
  readonly processID: number;
  readonly secretKey: number;
  readonly ssl: boolean | object;
  readonly sslNegotiation: string;
  readonly connection: EventEmitter & {
    readonly stream: Socket;
    connect(portOrPath: number | string, host?: string): void;
    requestSsl(): void;
    cancel(processID: number, secretKey: number): void;
  };
}

/**
 * Has PostgreSQL cancel what a client has under way, until that has ended. One request may
 * get there before the statement does, and has no effect then.
 *
 * It is the cancel request of the protocol, on a connection of its own without a login. A
 * pooler such as PgBouncer passes it on to the server that has the statement, of which
 * `pg_cancel_backend` would not know the process.
 *
 * @param outcome - comes when the statements have ended
 */
export async function cancelUntil(
  outcome: Promise<unknown>,
  client: PoolClient,
): Promise<void> {
  let hasEnded = false;
  const ended = outcome.then(() => {
    hasEnded = true;
  });
  while (!hasEnded) {
    await requestCancel(client as unknown as ClientInternals);
    await Promise.race([ended, sleep(AGAIN_MS, undefined, { ref: false })]);
  }
}

/** Resolves when the server has taken it, or can't be reached. */
function requestCancel(client: ClientInternals): Promise<void> {
  const { connectionParameters, host, port, processID, secretKey } = client;
  const { connection, ssl, sslNegotiation } = new Client({
    ...connectionParameters,
  }) as unknown as ClientInternals;
  const send = () => connection.cancel(processID, secretKey);
  return new Promise(resolve => {
    connection.once('end', () => resolve());
    connection.on('error', () => connection.stream.destroy());
    connection.on('sslconnect', send);
    connection.on('connect', () => {
      if (!ssl) {
        send();
      } else if (sslNegotiation !== 'direct') {
        connection.requestSsl();
      }
    });
    connection.stream.setTimeout(ANSWER_MS, () => connection.stream.destroy());
    if (host.startsWith('/')) {
      connection.connect(`${host}/.s.PGSQL.${port}`);
    } else {
      connection.connect(port, host);
    }
  });
}
