import type { LoggerService } from '@backstage/backend-plugin-api';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ClientConfig, Pool } from 'pg';

/** How long one attempt may take. */
const ANSWER_MS = 5_000;

/** Between two attempts. */
const AGAIN_MS = 100;

/** A transaction, as PostgreSQL itself names it. */
export interface RunningTransaction {
  /** The process that runs it, which a pooler such as PgBouncer does not tell. */
  pid: number;
  /** Its `now()`, in seconds. */
  startedAt: string;
}

// The process may run the transaction of another session by now.
const CANCEL = `select pg_catalog.pg_cancel_backend(pid) from pg_catalog.pg_stat_activity where pid = $1 and extract(epoch from xact_start) = $2`;

/**
 * Has PostgreSQL cancel statements, on one connection beside those of the pool: all of
 * these may be in use.
 */
export class Canceller {
  readonly #pool: Pool;
  readonly #logger: LoggerService;

  /** It connects when there is something to cancel. */
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
   * Cancels a transaction, until that has ended. One request may get there between two of its
   * statements, and has no effect then.
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
            `A statement whose caller has gone can't be cancelled: ${error.message}`,
          ),
        );
      await Promise.race([end, sleep(AGAIN_MS, undefined, { ref: false })]);
    }
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }
}
