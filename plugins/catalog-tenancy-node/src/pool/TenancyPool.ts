import type { LoggerService } from '@backstage/backend-plugin-api';
import createKnex from 'knex';
import type { Knex } from 'knex';
import { type ClientConfig, DatabaseError, Pool, type PoolClient } from 'pg';
import {
  defaultOperationLimits,
  type OperationLimits,
  type TenancyPoolLimits,
} from '../config/readTenancyConfig';
import {
  AdminAccessError,
  DatabaseUnavailableError,
  type Failure,
  isNotReady,
  toCallerError,
} from './errors';
import { Canceller } from './Canceller';
import { PooledTransaction } from './PooledTransaction';
import { SilenceWatch } from './SilenceWatch';
import {
  NO_TENANT,
  type OperationCounts,
  TenantConcurrency,
  type SlotOptions,
} from './TenantConcurrency';
import type { TenantLimits } from './TenantLimits';
import {
  ADMIN_ROLE,
  compileStatement,
  createContext,
  isDirect,
  type SessionContext,
  type Statement,
} from './statements';

// Bounds queries, so that a costly filter does not occupy a connection. Transactions have no
// limit: they write, and may wait for locks.
const DEFAULT_STATEMENT_TIMEOUT_MS = 30_000;

const CLOSED = 'The database was closed';

/**
 * The tenant and role of a transaction. By default, the database user without a tenant.
 *
 * @public
 */
export interface TransactionSettings {
  /** The tenant whose rows the transaction sees. A UUID. */
  tenantId?: string;
  /** Acts as `portal_admin`. For the administrator's path only. */
  asAdmin?: boolean;
  /** Runs even while the tables are not ready: see {@link TenancyPoolOptions.whenReady}. */
  evenIfNotReady?: boolean;
}

/**
 * A statement that a transaction sends with its commit, in one round trip.
 *
 * @public
 */
export interface LastStatement {
  /** Called after `work`. Nothing is sent if it returns undefined. */
  build(): Promise<BuildStatement | undefined>;
  /** Called with the rows after the commit. */
  onCommitted(rows: object[]): void;
}

/**
 * Settings of a single query.
 *
 * @public
 */
export interface QuerySettings extends TransactionSettings {
  /**
   * Runs before the query, in the same transaction and round trip. If it fails, the query does
   * not run and fails with the same error.
   */
  precondition?: BuildStatement;

  /**
   * Called before the query settles, if it has written, or if the connection was lost and it
   * may have.
   */
  onWrite?: () => void;

  /**
   * On abort, the query leaves the queue or is cancelled in PostgreSQL, and rejects with the
   * reason of the signal.
   */
  signal?: AbortSignal;

  /**
   * The query continues a response that has begun: it waits in the tenant's queue instead of
   * failing with {@link TenantBusyError}. False by default.
   */
  continues?: boolean;
}

/**
 * Builds a statement, which the pool runs; `knex` has no connection.
 *
 * @public
 */
export type BuildStatement = (knex: Knex) => Knex.QueryBuilder | Knex.Raw;

/**
 * A transaction of the pool.
 *
 * @public
 */
export interface PoolTransaction {
  /** Builds statements; has no connection. */
  readonly knex: Knex;
  /**
   * Runs a statement and returns its rows.
   *
   * @throws like {@link TenancyPool.query}
   */
  query<TRow extends object>(
    statement: Knex.QueryBuilder | Knex.Raw,
  ): Promise<TRow[]>;
}

/**
 * Options of a pool.
 *
 * @public
 */
export interface TenancyPoolOptions {
  /** The options of `pg`. */
  connection: ClientConfig;
  /** The schema of the tables. */
  schema: string;
  /** Limits of the connections. */
  pool: TenancyPoolLimits;
  /**
   * If true, each operation fails with {@link DatabaseUnavailableError} unless the tables of
   * phase 5 are in place. An application with several tenants needs it: after a rollback of
   * phase 5, the table of that name holds the default tenant only, and other tenants would look
   * empty. False by default, for work on the default tenant before phase 5.
   */
  whenReady?: boolean;
  /**
   * The role that transactions act as, except those of the administrator; by default the database
   * user itself.
   */
  role?: string;
  /**
   * If false, a transaction waits until it has begun, so that it needs no subtransaction: rows then
   * carry the id of the transaction itself. True by default.
   */
  pipelined?: boolean;
  /** Limits of each tenant; by default derived from the size of the pool. */
  limits?: OperationLimits;
  /** Limits of single tenants that override `limits`. */
  tenantLimits?: TenantLimits;
  /** Logs PostgreSQL's messages, which errors for callers leave out. */
  logger: LoggerService;
}

/**
 * The connections of this process to the tables of tenants.
 *
 * Each operation is one transaction that sets its tenant, role and schema, and resets them at
 * its end. No state stays in the session, so a pooler may use another server connection for
 * each transaction.
 *
 * Only single statements that read or write rows are allowed; transaction control and settings
 * are refused.
 *
 * @public
 */
export class TenancyPool {
  /** The connection options. The password is not enumerable. */
  readonly connection: ClientConfig;
  /** The schema of the tables. */
  readonly schema: string;

  readonly #logger: LoggerService;
  readonly #pool: Pool;
  readonly #limits: TenancyPoolLimits;
  readonly #concurrency: TenantConcurrency;
  readonly #whenReady: boolean;
  readonly #role: string | undefined;
  readonly #pipelined: boolean;
  readonly #canceller: Canceller;
  readonly #silence: SilenceWatch;
  /** The results of {@link isDirect}, by connection. */
  readonly #direct = new WeakMap<PoolClient, boolean>();
  /** The last answer of {@link begin}; true until the first one. */
  #citus = true;
  // Has no connection; builds statements only.
  readonly #knex = createKnex({ client: 'pg' });
  #closed: Promise<void> | undefined;
  #onWork?: (tenantId: string, ms: number) => void;

  /** Connects on first use. */
  static create(options: TenancyPoolOptions): TenancyPool {
    return new TenancyPool(options);
  }

  private constructor(options: TenancyPoolOptions) {
    const { connection, schema, pool, whenReady = false, logger } = options;
    this.#whenReady = whenReady;
    this.#role = options.role;
    this.#pipelined = options.pipelined ?? true;
    this.connection = Object.defineProperty({ ...connection }, 'password', {
      value: connection.password,
      enumerable: false,
    });
    this.schema = schema;
    this.#logger = logger;
    this.#limits = pool;
    this.#concurrency = new TenantConcurrency({
      max: pool.max,
      waitMs: pool.connectionTimeoutMs,
      limits: options.limits ?? defaultOperationLimits(pool),
      own: options.tenantLimits,
      onFull: () => logger.warn(`All of ${pool.max} connections are in use`),
    });
    const clientConfig = {
      fallback_application_name: 'backstage catalog tenancy',
      // Without it, a vanished server is noticed only after TCP's long timeout.
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      ...connection,
      password: connection.password,
    };
    this.#canceller = new Canceller(clientConfig, logger);
    this.#silence = new SilenceWatch(clientConfig);
    this.#pool = new Pool({
      ...clientConfig,
      pipeline: true,
      max: pool.max,
      idleTimeoutMillis: pool.idleTimeoutMs,
      connectionTimeoutMillis: pool.connectionTimeoutMs,
    });
    this.#pool.on('connect', client => {
      // Without a listener, a lost connection would end the process. Its pending statement
      // rejects as well.
      client.on('error', () => undefined);
    });
    this.#pool.on('error', error =>
      logger.info(`An idle connection was lost: ${error.message}`),
    );
  }

  /**
   * Runs one statement and returns its rows, in one round trip, or in two behind a pooler such
   * as PgBouncer or with Citus. Without `tenantId`, the statement sees the registry only.
   *
   * @throws `InputError` for a tenant id that is not a UUID, before anything is sent; {@link
   * DatabaseUnavailableError} if there is no connection in time, it is lost, or the tables are
   * not in place; {@link TenantBusyError} if the tenant has too many operations; {@link
   * DatabaseStatementError} if PostgreSQL refuses the statement; {@link AdminAccessError} if
   * `portal_admin` is not granted; {@link DatabaseTimeoutError} if it exceeds the pool's time
   * limit
   */
  async query<TRow extends object>(
    build: BuildStatement,
    settings: QuerySettings = {},
  ): Promise<TRow[]> {
    const context = createContext(this.schema, settings, {
      role: this.#role,
      statementTimeoutMs:
        this.#limits.statementTimeoutMs ?? DEFAULT_STATEMENT_TIMEOUT_MS,
      whenReady: this.#whenReady && !settings.evenIfNotReady,
    });
    const builds = settings.precondition
      ? [settings.precondition, build]
      : [build];
    const statements = builds.map(each => compileStatement(each(this.#knex)));
    const transaction = await this.#open(context, settings, settings);
    try {
      const { rows, wrote } = await transaction.run(
        statements,
        settings.signal,
      );
      if (wrote) {
        settings.onWrite?.();
      }
      return rows as TRow[];
    } catch (error) {
      if (error instanceof DatabaseUnavailableError && error.outcomeUnknown) {
        settings.onWrite?.();
      }
      settings.signal?.throwIfAborted();
      throw error;
    }
  }

  /**
   * Runs several statements in one transaction. Commits when `work` resolves, and rolls back
   * when it rejects.
   *
   * Also rolls back, and rejects, if a statement failed and `work` swallowed its error.
   * Statements that `work` does not await belong to the transaction. `work` holds a connection
   * and should not wait for another one.
   *
   * @param last - sent after the statements of `work`
   * @throws like {@link TenancyPool.query}, and whatever `work` rejects with
   */
  async transaction<T>(
    settings: TransactionSettings,
    work: (transaction: PoolTransaction) => Promise<T>,
    last?: LastStatement,
  ): Promise<T> {
    const context = createContext(this.schema, settings, {
      role: this.#role,
      whenReady: this.#whenReady && !settings.evenIfNotReady,
    });
    const transaction = await this.#open(context, settings);
    let result: T;
    let statement: Statement | undefined;
    try {
      result = await work({
        knex: this.#knex,
        query: each => transaction.query(each),
      });
      const build = await last?.build();
      statement = build && compileStatement(build(this.#knex));
    } catch (error) {
      await transaction.abort();
      throw error;
    }
    const rows = await transaction.end(statement ? [statement] : []);
    if (statement) {
      last?.onCommitted(rows);
    }
    return result;
  }

  /** The numbers of operations, for metrics. */
  get counts(): OperationCounts {
    return this.#concurrency.counts;
  }

  /** Sets a listener that gets how long each operation of a tenant has held a connection. */
  onWork(listener: (tenantId: string, ms: number) => void): void {
    this.#onWork = listener;
  }

  /** Waits for running operations, and closes all connections. */
  async close(): Promise<void> {
    this.#concurrency.close(new DatabaseUnavailableError(CLOSED));
    this.#closed ??= this.#pool.end().then(() => this.#canceller.close());
    await this.#closed;
  }

  /** Waits for a slot and a connection, and creates a transaction. */
  async #open(
    context: SessionContext,
    settings: TransactionSettings,
    options?: SlotOptions,
  ): Promise<PooledTransaction> {
    const releaseSlot = await this.#concurrency.acquire(
      ownerOf(context),
      options,
    );
    try {
      const client = await this.#connect();
      const began = performance.now();
      if (options?.signal?.aborted) {
        client.release();
        throw options.signal.reason;
      }
      return new PooledTransaction({
        client,
        context,
        canceller: this.#canceller,
        silence: this.#silence,
        direct: this.#direct.get(client) ?? false,
        citus: this.#citus,
        onEntered: ({ citus }) => {
          this.#citus = citus;
        },
        onRelease: () => {
          releaseSlot();
          const owner = ownerOf(context);
          if (owner !== NO_TENANT) {
            this.#onWork?.(owner, performance.now() - began);
          }
        },
        toError: failure => this.#toError(failure, settings),
      });
    } catch (error) {
      releaseSlot();
      throw error;
    }
  }

  async #connect(): Promise<PoolClient> {
    let client: PoolClient | undefined;
    try {
      client = await this.#pool.connect();
      if (!this.#direct.has(client)) {
        this.#direct.set(client, this.#pipelined && (await isDirect(client)));
      }
      return client;
    } catch (error) {
      client?.release(true);
      throw this.#toConnectError(error as Error);
    }
  }

  #toConnectError(error: Error): DatabaseUnavailableError {
    const { max, connectionTimeoutMs } = this.#limits;
    if (this.#pool.ending) {
      return new DatabaseUnavailableError(CLOSED);
    }
    if (this.#pool.totalCount >= max && !(error instanceof DatabaseError)) {
      this.#logger.warn(`All of ${max} connections are in use`);
      return new DatabaseUnavailableError(
        `No connection to the database became free within ${connectionTimeoutMs} ms`,
      );
    }
    this.#logger.error(`Cannot connect to the database: ${describe(error)}`);
    if (error instanceof DatabaseError) {
      return new DatabaseUnavailableError(
        `The database refuses the connection (SQLSTATE ${error.code})`,
        { retryAfterSeconds: 5 },
      );
    }
    return new DatabaseUnavailableError(
      'There is no connection to the database at the moment',
      { retryAfterSeconds: 5 },
    );
  }

  #toError(failure: Failure, settings: TransactionSettings): Error {
    const { error } = failure;
    const roleRefused =
      settings.asAdmin &&
      failure.phase === 'begin' &&
      error instanceof DatabaseError &&
      !isNotReady(error) &&
      ['42501', '22023'].includes(error.code ?? '');
    if (roleRefused) {
      return new AdminAccessError(
        'portal_admin is not granted to the database user, and this needs it. ' +
          'Grant it, or do without: see --no-admin-grant of the migration.',
      );
    }
    return toCallerError(failure, {
      schema: this.schema,
      logger: this.#logger,
    });
  }
}

/** The tenant whose limits apply. Operations of the administrator count for none. */
function ownerOf({ tenantId, role }: SessionContext): string {
  return role === ADMIN_ROLE ? NO_TENANT : tenantId;
}

/** If a host has several addresses, Node.js throws an AggregateError without a message. */
function describe(error: Error): string {
  return error instanceof AggregateError
    ? error.errors.map(({ message }) => message).join(', ')
    : error.message;
}
