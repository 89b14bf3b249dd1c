import type { LoggerService } from '@backstage/backend-plugin-api';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ClientConfig, Pool } from 'pg';

/** The time limit of one attempt. */
const ANSWER_MS = 5_000;

/** The pause between attempts. */
const AGAIN_MS = 100;

/** Identifies a running transaction in PostgreSQL. */
export interface RunningTransaction {
  /**
   * The server process, as `pg_backend_pid()` returns it: a pooler such as PgBouncer reports
   * another number.
   */
  pid: number;
  /** The transaction's `now()`, in seconds. */
  startedAt: string;
}

// Compares the start time, because the process may run another transaction by now.
const CANCEL = `select pg_catalog.pg_cancel_backend(pid) from pg_catalog.pg_stat_activity where pid = $1 and extract(epoch from xact_start) = $2`;

/**
 * Cancels statements on a separate connection, because all connections of the pool may be in
 * use.
 */
export class Canceller {
  readonly #pool: Pool;
  readonly #logger: LoggerService;

  /** Connects on the first cancellation. */
  constructor(connection: ClientConfig, logger: LoggerService) {
    this.#logger = logger;
    this.#pool = new Pool({
      ...connection,
      password: connection.password,
      max: 1,
      connectionTimeoutMillis: ANSWER_MS,
      query_timeout: ANSWER_MS,
      idleTimeoutMillis: 1_000,
      allowExitOnIdle: true,
    });
    this.#pool.on('error', () => undefined);
  }

  /**
   * Requests cancellation repeatedly until the transaction ends: a request that arrives between
   * two statements has no effect.
   *
   * @param ended - never rejects
   */
  async cancelUntil(
    ended: Promise<unknown>,
    { pid, startedAt }: RunningTransaction,
  ): Promise<void> {
    let hasEnded = false;
    const end = ended.then(() => {
      hasEnded = true;
    });
    while (!hasEnded) {
      await this.#pool
        .query(CANCEL, [pid, startedAt])
        .catch(error =>
          this.#logger.warn(
            `Cannot cancel a statement whose client has disconnected: ${error.message}`,
          ),
        );
      await Promise.race([end, sleep(AGAIN_MS, undefined, { ref: false })]);
    }
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }
}
