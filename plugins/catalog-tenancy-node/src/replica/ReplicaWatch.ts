import type { LoggerService } from '@backstage/backend-plugin-api';
import type { JsonObject } from '@backstage/types';
import type { ClientConfig } from 'pg';
import { setTimeout as sleep } from 'node:timers/promises';
import type {
  OperationLimits,
  TenancyPoolLimits,
} from '../config/readTenancyConfig';
import {
  type BuildStatement,
  type QuerySettings,
  TenancyPool,
} from '../pool/TenancyPool';
import { DatabaseUnavailableError } from '../pool/errors';
import type { TenantLimits } from '../pool/TenantLimits';
import type { Freshness } from './Freshness';
import {
  faultOf,
  type LogPosition,
  type ReplicaRow,
  selectPrimary,
  selectReplica,
} from './statements';

/** The application_name of the connections that watch both servers. */
export const WATCH = 'backstage catalog tenancy replica watch';

// A server without an answer within this time counts as lost.
const ANSWER_MS = 2_000;
// The check sends several statements, some of which read all of the catalogue.
const CHECK_MS = 60_000;
const RETRY_MS = 1_000;
// After a failed check, which is costly and which an operator has to resolve.
const RETRY_REFUSED_MS = 30_000;

/** The replica was lost during a read. */
export class ReplicaLostError extends Error {}

/** Connections to the replica, until it is lost. */
export class ReplicaSession {
  readonly #pool: TenancyPool;
  readonly #waiting = new Set<() => void>();

  constructor(pool: TenancyPool) {
    this.#pool = pool;
  }

  /**
   * @throws {@link ReplicaLostError} once it is closed, because a vanished server may never
   * answer; and like the query of the pool
   */
  query<TRow extends object>(
    build: BuildStatement,
    settings: QuerySettings,
  ): Promise<TRow[]> {
    return new Promise((resolve, reject) => {
      const giveUp = () => reject(new ReplicaLostError('The replica is lost'));
      this.#waiting.add(giveUp);
      this.#pool
        .query<TRow>(build, settings)
        .then(resolve, reject)
        .finally(() => this.#waiting.delete(giveUp));
    });
  }

  /** Rejects running queries, and closes each connection when it becomes free. */
  async close(): Promise<void> {
    this.#waiting.forEach(giveUp => giveUp());
    await this.#pool.close();
  }
}

/**
 * The options of a read replica.
 *
 * @public
 */
export interface ReadReplicaOptions {
  /** How to connect to the primary. */
  primary: ClientConfig;
  /** How to connect to the replica. */
  replica: ClientConfig;
  /** The schema of the tables. */
  schema: string;
  /** The limits of the pool of connections to the replica. */
  pool: TenancyPoolLimits;
  /** As the same option of the primary's pool. */
  whenReady?: boolean;
  /** What each tenant may have under way there, beside what it has on the primary. */
  limits?: OperationLimits;
  /** What single tenants may have under way there instead. */
  tenantLimits?: TenantLimits;
  /** The greatest age of an answer, in milliseconds. */
  maxStalenessMs: number;
  /** Rejects if connections to the replica do not isolate tenants. */
  check: (pool: TenancyPool) => Promise<void>;
  /** Logs when reads begin to go to the replica, and when they stop. */
  logger: LoggerService;
}

type ReplicaWatchOptions = ReadReplicaOptions & { freshness: Freshness };

/**
 * Repeatedly asks the primary for the end of its log, and the replica how much of that it
 * has replayed. Holds connections for reads while the replica may be read.
 */
export class ReplicaWatch {
  readonly #options: ReplicaWatchOptions;
  readonly #freshness: Freshness;
  readonly #primary: TenancyPool;
  readonly #replica: TenancyPool;
  readonly #startedAt = performance.now();
  readonly #watching: Promise<void>;
  #session: ReplicaSession | undefined;
  #isSuspect = false;
  #reported: 'used' | 'lost' | undefined;
  #lastMessage: string | undefined;
  readonly #closing = new AbortController();

  static start(options: ReplicaWatchOptions): ReplicaWatch {
    return new ReplicaWatch(options);
  }

  private constructor(options: ReplicaWatchOptions) {
    this.#options = options;
    this.#freshness = options.freshness;
    const { primary, replica, schema, logger } = options;
    this.#primary = createProbe(primary, schema, atDebug(logger));
    this.#replica = createProbe(
      replica,
      schema,
      atDebug(logger, message => {
        this.#lastMessage = message;
      }),
    );
    this.#watching = this.#watch();
  }

  /** The connections for reads, while the replica may be read. */
  get session(): ReplicaSession | undefined {
    return !this.#isSuspect && this.#freshness.isReplicaFresh
      ? this.#session
      : undefined;
  }

  /** Stops reads after an error of the replica, until it has answered again. */
  suspect(): void {
    this.#isSuspect = true;
  }

  /** Waits for running work. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#watching;
    await Promise.all([
      this.#primary.close(),
      this.#replica.close(),
      // Bounded, because a vanished server never answers.
      Promise.race([
        this.#closeSession(),
        sleep(ANSWER_MS, undefined, { ref: false }),
      ]),
    ]);
  }

  async #watch(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await this.#samplePrimary();
      const pauseMs = await this.#lookAtReplica();
      await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => {});
    }
  }

  async #samplePrimary(): Promise<void> {
    const askedAt = performance.now();
    try {
      const [position] = await this.#primary.query<LogPosition>(selectPrimary);
      this.#freshness.addSample({ ...position, askedAt });
    } catch {
      // The pool has logged it. Without samples the replica soon counts as too old.
    }
  }

  /** @returns the pause before the next round, in milliseconds */
  async #lookAtReplica(): Promise<number> {
    const freshness = this.#freshness;
    const { primary, pending } = freshness;
    if (!primary) {
      return RETRY_MS;
    }
    try {
      const [row] = await this.#replica.query<ReplicaRow>(
        selectReplica(pending.map(({ lsn }) => lsn)),
      );
      const fault = faultOf(row, primary);
      if (fault) {
        throw new Error(fault);
      }
      freshness.setReplayed(pending[row.replayed - 1]);
    } catch (error) {
      this.#lose(this.#reasonOf(error));
      return RETRY_MS;
    }
    // Not earlier: before, it may lack the tables, or the rights on them.
    if (freshness.isReplicaFresh && !this.#session) {
      try {
        this.#session = await this.#open();
      } catch (error) {
        this.#lose(this.#reasonOf(error));
        return RETRY_REFUSED_MS;
      }
    }
    this.#isSuspect = false;
    this.#report();
    return freshness.intervalMs;
  }

  async #open(): Promise<ReplicaSession> {
    const { replica, check, logger, ...options } = this.#options;
    const pool = TenancyPool.create({
      ...options,
      connection: replica,
      logger: atDebug(logger),
    });
    try {
      await this.#inTime(check(pool));
    } catch (error) {
      // Not awaited: a vanished server may never answer what is under way.
      pool.close().catch(() => undefined);
      throw error;
    }
    return new ReplicaSession(pool);
  }

  /** Rejects after {@link CHECK_MS}, or when this is closed. */
  async #inTime(checked: Promise<void>): Promise<void> {
    const { signal } = this.#closing;
    const late = sleep(CHECK_MS, undefined, { signal, ref: false }).then(() => {
      throw new Error(`its check took longer than ${CHECK_MS} ms`);
    });
    await Promise.race([checked, late]);
  }

  #reasonOf(error: unknown): string {
    const { message } = error as Error;
    return error instanceof DatabaseUnavailableError
      ? this.#lastMessage ?? message
      : message;
  }

  #lose(reason: string): void {
    this.#closeSession().catch(() => undefined);
    this.#freshness.setReplayed(undefined);
    this.#reportLost(reason);
  }

  async #closeSession(): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    await session?.close();
  }

  #report(): void {
    const { maxStalenessMs, logger } = this.#options;
    if (this.session) {
      if (this.#reported !== 'used') {
        this.#reported = 'used';
        logger.info('Catalogs are read from the read replica');
      }
    } else if (!this.#freshness.isPrimaryKnown) {
      this.#reportLost('the position of the primary is unknown');
    } else if (
      this.#session ||
      performance.now() - this.#startedAt > maxStalenessMs
    ) {
      this.#reportLost(`it is more than ${maxStalenessMs} ms behind`);
    }
  }

  #reportLost(reason: string): void {
    if (this.#reported !== 'lost' && !this.#closing.signal.aborted) {
      this.#reported = 'lost';
      this.#options.logger.warn(
        `Catalogs are read from the primary, and not from the read replica: ${reason}`,
      );
    }
  }
}

/**
 * A separate connection to watch a server. In the pools of the operations it would wait
 * when the primary has no connection left, and reads would then leave the replica for the
 * primary.
 */
function createProbe(
  connection: ClientConfig,
  schema: string,
  logger: LoggerService,
): TenancyPool {
  return TenancyPool.create({
    connection: {
      fallback_application_name: WATCH,
      ...connection,
      // `pg` makes the password of a pool's options non-enumerable.
      password: connection.password,
      // A vanished server sends no error.
      query_timeout: ANSWER_MS,
    },
    schema,
    pool: {
      max: 1,
      idleTimeoutMs: 60_000,
      connectionTimeoutMs: ANSWER_MS,
      statementTimeoutMs: ANSWER_MS,
    },
    logger,
  });
}

/** Logs at the level `debug`: an operator need not know of errors of single connections. */
function atDebug(
  logger: LoggerService,
  onMessage: (message: string) => void = () => {},
): LoggerService {
  const log = (message: string, meta?: Error | JsonObject) => {
    onMessage(message);
    logger.debug(`Read replica: ${message}`, meta);
  };
  return {
    error: log,
    warn: log,
    info: log,
    debug: log,
    child: meta => atDebug(logger.child(meta), onMessage),
  };
}
