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
import {
  NO_TENANT,
  type OperationCounts,
  TenantConcurrency,
  type TurnOptions,
} from './TenantConcurrency';
import type { TenantLimits } from './TenantLimits';
import {
  compileStatement,
  createContext,
  isDirect,
  type SessionContext,
  type Statement,
} from './statements';

// No reader waits longer for a page, and a costly filter would keep its connection from
// all tenants. Transactions write, and may wait for each other.
const DEFAULT_STATEMENT_TIMEOUT_MS = 30_000;

const CLOSED = 'The database was closed';

/**
 * As whom a transaction works: as the database user, without a tenant, if nothing
 * is said.
 *
 * @public
 */
export interface TransactionSettings {
  /** The tenant whose rows it sees. A UUID. */
  tenantId?: string;
  /** Acts as `portal_admin`. Only the administrator's path does. */
  asAdmin?: boolean;
  /** Also where tenants can't be served: see {@link TenancyPoolOptions.whenReady}. */
  evenIfNotReady?: boolean;
}

/**
 * A statement that a transaction sends together with its commit, in the same round trip.
 *
 * @public
 */
export interface LastStatement {
  /** Called when the work has been done; nothing is sent where it returns nothing. */
  build(): Promise<BuildStatement | undefined>;
  /** Called with its rows once they are committed. */
  onCommitted(rows: object[]): void;
}

/**
 * As whom a single query works, and on what condition.
 *
 * @public
 */
export interface QuerySettings extends TransactionSettings {
  /**
   * Runs first, in the same transaction and round trip. Where it fails, the query is
   * not run, and fails as it does.
   */
  fence?: BuildStatement;

  /**
   * Called before the query resolves or rejects if it has written, or if the connection
   * was lost and it may have.
   */
  onWrite?: () => void;

  /**
   * Once it is aborted, the query leaves the queue, or is cancelled in PostgreSQL, and
   * rejects with the reason of the signal.
   */
  signal?: AbortSignal;

  /**
   * The query continues what has begun to be answered: it waits for its turn, rather than
   * fail with {@link TenantBusyError}. False by default.
   */
  continues?: boolean;
}

/**
 * Builds a statement. It has no connection: the pool runs what it returns.
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
  /** Builds statements. It has no connection. */
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
  /** As `pg` has it. */
  connection: ClientConfig;
  /** The schema of the tables. */
  schema: string;
  /** How many connections there may be. */
  pool: TenancyPoolLimits;
  /**
   * Whether each operation fails, as if there was no database, unless the tables of
   * tenants are in their place. An application that serves several tenants needs it:
   * once the swap of phase 5 is undone, a table of the default tenant alone has the
   * name of theirs, in which others would find nothing. False by default, for one that
   * works for the default tenant before phase 5 is complete.
   */
  whenReady?: boolean;
  /** What each tenant may have under way; by the size of the pool by default. */
  limits?: OperationLimits;
  /** What single tenants may have instead. */
  tenantLimits?: TenantLimits;
  /** Gets what PostgreSQL says about failures, which errors for callers leave out. */
  logger: LoggerService;
}

/**
 * The connections of this process to the tables of tenants.
 *
 * Each operation is one transaction that sets the tenant, the role and the
 * schema for itself, and resets them at its end. Nothing is kept in a session, so
 * that a connection pooler may hand out another one for each transaction.
 *
 * Statements are single ones that read or write rows. What would end a transaction
 * or change a setting is refused.
 *
 * @public
 */
export class TenancyPool {
  /** How it connects. The password is not enumerable. */
  readonly connection: ClientConfig;
  /** The schema of the tables. */
  readonly schema: string;

  readonly #logger: LoggerService;
  readonly #pool: Pool;
  readonly #limits: TenancyPoolLimits;
  readonly #turns: TenantConcurrency;
  readonly #whenReady: boolean;
  readonly #canceller: Canceller;
  /** The connections that {@link isDirect} has looked at. */
  readonly #direct = new WeakMap<PoolClient, boolean>();
  /** By the last answer: until there is one, none is known to be without. */
  #citus = true;
  // Without a connection: it builds statements, and can't run any.
  readonly #knex = createKnex({ client: 'pg' });
  #closed: Promise<void> | undefined;
  #onWork?: (tenantId: string, ms: number) => void;

  /** It connects when there is something to do. */
  static create(options: TenancyPoolOptions): TenancyPool {
    return new TenancyPool(options);
  }

  private constructor(options: TenancyPoolOptions) {
    const { connection, schema, pool, whenReady = false, logger } = options;
    this.#whenReady = whenReady;
    this.connection = Object.defineProperty({ ...connection }, 'password', {
      value: connection.password,
      enumerable: false,
    });
    this.schema = schema;
    this.#logger = logger;
    this.#limits = pool;
    this.#turns = new TenantConcurrency({
      max: pool.max,
      waitMs: pool.connectionTimeoutMs,
      limits: options.limits ?? defaultOperationLimits(pool),
      own: options.tenantLimits,
      onFull: () => logger.warn(`All of ${pool.max} connections are in use`),
    });
    const clientConfig = {
      fallback_application_name: 'backstage catalog tenancy',
      // Or a server that vanished would be waited for as long as TCP does.
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      ...connection,
      password: connection.password,
    };
    this.#canceller = new Canceller(clientConfig, logger);
    this.#pool = new Pool({
      ...clientConfig,
      pipeline: true,
      max: pool.max,
      idleTimeoutMillis: pool.idleTimeoutMs,
      connectionTimeoutMillis: pool.connectionTimeoutMs,
    });
    this.#pool.on('connect', client => {
      // The pending statement of the connection fails with its loss;
      // without a listener it would end the process.
      client.on('error', () => undefined);
    });
    this.#pool.on('error', error =>
      logger.info(`An idle connection was lost: ${error.message}`),
    );
  }

  /**
   * Runs one statement and returns its rows, in a single round trip, or in two behind a
   * pooler such as PgBouncer or where Citus has the tables. Without
   * `tenantId`, it sees the registry only.
   *
   * @throws `InputError` for a tenant id that is no UUID, before anything is sent;
   * {@link DatabaseUnavailableError} if there is no connection in time, it is
   * lost, or the tables of tenants are not there; {@link TenantBusyError} if the tenant has
   * too much under way; {@link DatabaseStatementError} if PostgreSQL refuses the statement;
   * {@link AdminAccessError} if `portal_admin` is not granted;
   * {@link DatabaseTimeoutError} if it takes longer than the limit of the pool
   */
  async query<TRow extends object>(
    build: BuildStatement,
    settings: QuerySettings = {},
  ): Promise<TRow[]> {
    const context = createContext(this.schema, settings, {
      statementTimeoutMs:
        this.#limits.statementTimeoutMs ?? DEFAULT_STATEMENT_TIMEOUT_MS,
      whenReady: this.#whenReady && !settings.evenIfNotReady,
    });
    const builds = settings.fence ? [settings.fence, build] : [build];
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
   * Runs several statements in one transaction, which is committed when `work`
   * resolves and rolled back when it rejects.
   *
   * It is rolled back as well, and rejects, if a statement has failed whose error
   * `work` has not passed on. Statements that `work` has not waited for belong to
   * it. `work` holds a connection: it should not wait for another one.
   *
   * @param last - sent behind the statements of `work`
   * @throws like {@link TenancyPool.query}, and whatever `work` rejects with
   */
  async transaction<T>(
    settings: TransactionSettings,
    work: (transaction: PoolTransaction) => Promise<T>,
    last?: LastStatement,
  ): Promise<T> {
    const context = createContext(this.schema, settings, {
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

  /** How many operations there are, for metrics. */
  get counts(): OperationCounts {
    return this.#turns.counts;
  }

  /** Has a listener hear for how long each operation of a tenant has had a connection. */
  onWork(listener: (tenantId: string, ms: number) => void): void {
    this.#onWork = listener;
  }

  /** Waits for what is under way, and closes all connections. */
  async close(): Promise<void> {
    this.#turns.close(new DatabaseUnavailableError(CLOSED));
    this.#closed ??= this.#pool.end().then(() => this.#canceller.close());
    await this.#closed;
  }

  /** A transaction on a connection, once it is the turn of its owner. */
  async #open(
    context: SessionContext,
    settings: TransactionSettings,
    options?: TurnOptions,
  ): Promise<PooledTransaction> {
    const giveTurn = await this.#turns.take(ownerOf(context), options);
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
        direct: this.#direct.get(client) ?? false,
        citus: this.#citus,
        onEntered: ({ citus }) => {
          this.#citus = citus;
        },
        onRelease: () => {
          giveTurn();
          const owner = ownerOf(context);
          if (owner !== NO_TENANT) {
            this.#onWork?.(owner, performance.now() - began);
          }
        },
        toError: failure => this.#toError(failure, settings),
      });
    } catch (error) {
      giveTurn();
      throw error;
    }
  }

  async #connect(): Promise<PoolClient> {
    let client: PoolClient | undefined;
    try {
      client = await this.#pool.connect();
      if (!this.#direct.has(client)) {
        this.#direct.set(client, await isDirect(client));
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
    this.#logger.error(`Can't connect to the database: ${describe(error)}`);
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

/** Whose turn it is. What is done as the administrator is for no tenant's caller. */
function ownerOf({ tenantId, role }: SessionContext): string {
  return role === 'none' ? tenantId : NO_TENANT;
}

/** Node.js tells of several addresses in an error without a message. */
function describe(error: Error): string {
  return error instanceof AggregateError
    ? error.errors.map(({ message }) => message).join(', ')
    : error.message;
}
