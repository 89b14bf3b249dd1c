import type { LoggerService } from '@backstage/backend-plugin-api';
import createKnex from 'knex';
import type { Knex } from 'knex';
import { type ClientConfig, DatabaseError, Pool } from 'pg';
import {
  defaultOperationLimits,
  type OperationLimits,
  type TenancyPoolLimits,
} from '../config/readTenancyConfig';
import {
  AdminAccessError,
  DatabaseUnavailableError,
  isNotReady,
  isUnusable,
  toCallerError,
} from './errors';
import {
  type FailedOutcome,
  isContextChange,
  isFailed,
  Lease,
  PooledTransaction,
  releaseCommitted,
} from './PooledTransaction';
import type { BatchOutcome, Statement } from './Batch';
import { compileStatement } from './compileStatement';
import {
  NO_TENANT,
  type OperationCounts,
  TenantTurns,
  type TurnOptions,
} from './TenantTurns';
import type { TenantLimits } from './TenantLimits';
import {
  begin,
  CONTEXT_CHANGED,
  createContext,
  enter,
  hasCitus,
  hasWritten,
  leave,
  type SessionContext,
} from './context';

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
  readonly #turns: TenantTurns;
  readonly #whenReady: boolean;
  #mayHaveCitus = true;
  // Without a connection: it builds statements, and can't run any.
  readonly #knex = createKnex({ client: 'pg' });
  #closed: Promise<void> | undefined;

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
    this.#turns = new TenantTurns({
      max: pool.max,
      waitMs: pool.connectionTimeoutMs,
      limits: options.limits ?? defaultOperationLimits(pool),
      own: options.tenantLimits,
      onFull: () => logger.warn(`All of ${pool.max} connections are in use`),
    });
    this.#pool = new Pool({
      fallback_application_name: 'backstage catalog tenancy',
      // Or a server that vanished would be waited for as long as TCP does.
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      ...connection,
      password: connection.password,
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
   * Runs one statement and returns its rows, in a single round trip. Without
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
    const statements = [
      ...builds.map(each => compileStatement(each(this.#knex))),
      leave(context),
    ];
    const { signal } = settings;
    const lease = await this.#connect(ownerOf(context), settings);
    const { outcome, entered } = await this.#run(
      lease,
      { context, statements },
      signal,
    );
    const leaving = entered + builds.length;
    if (!isFailed(outcome)) {
      if (hasWritten(outcome.results[leaving])) {
        settings.onWrite?.();
      }
      return outcome.results[leaving - 1].rows;
    }
    if (outcome.lost && outcome.sent) {
      settings.onWrite?.();
    }
    const contextChanged =
      outcome.failedAt === leaving && isContextChange(outcome);
    lease.release({ inDoubt: isUnusable(outcome) || contextChanged });
    signal?.throwIfAborted();
    throw contextChanged
      ? new Error(CONTEXT_CHANGED)
      : this.#toError(outcome, settings, {
          committing: true,
          failedToEnter: outcome.failedAt < entered,
        });
  }

  /**
   * Runs a transaction in one round trip, and gives the connection back if it succeeds.
   *
   * Without Citus one message is the transaction, which costs a read a tenth less than to begin
   * and commit one. The policies on the nodes of Citus refuse a transaction in that form, since its
   * tenant does not get there. So it is used once the server has said that it has no Citus, and
   * where a table is refused the transaction, which has failed as a whole, is run again: an
   * operator may have distributed the tables since.
   *
   * @returns what came of it, and how many statements precede those of the caller
   */
  async #run(
    lease: Lease,
    work: { context: SessionContext; statements: Statement[] },
    signal: AbortSignal | undefined,
  ): Promise<{ outcome: BatchOutcome; entered: number }> {
    const { context, statements } = work;
    if (!this.#mayHaveCitus) {
      const outcome = await lease.run([enter(context), ...statements], signal);
      if (!isFailed(outcome)) {
        lease.release({ inDoubt: false });
      }
      if (!isRefused(outcome) || signal?.aborted) {
        return { outcome, entered: 1 };
      }
      this.#mayHaveCitus = true;
    }
    const entering = begin(context);
    const outcome = await lease.runAndCommit(
      [...entering, ...statements],
      signal,
    );
    if (!isFailed(outcome)) {
      this.#mayHaveCitus = hasCitus(outcome.results);
      releaseCommitted(lease, outcome);
    }
    return { outcome, entered: entering.length };
  }

  /**
   * Runs several statements in one transaction, which is committed when `work`
   * resolves and rolled back when it rejects.
   *
   * It is rolled back as well, and rejects, if a statement has failed whose error
   * `work` has not passed on. Statements that `work` has not waited for belong to
   * it. `work` holds a connection: it should not wait for another one.
   *
   * @throws like {@link TenancyPool.query}, and whatever `work` rejects with
   */
  async transaction<T>(
    settings: TransactionSettings,
    work: (transaction: PoolTransaction) => Promise<T>,
  ): Promise<T> {
    const context = createContext(this.schema, settings, {
      whenReady: this.#whenReady && !settings.evenIfNotReady,
    });
    const transaction = new PooledTransaction({
      lease: await this.#connect(ownerOf(context)),
      context,
      toError: (outcome, when) => this.#toError(outcome, settings, when),
    });
    let result: T;
    try {
      result = await work({
        knex: this.#knex,
        query: statement => transaction.query(statement),
      });
    } catch (error) {
      await transaction.abort();
      throw error;
    }
    await transaction.end();
    return result;
  }

  /** How many operations there are, for metrics. */
  get counts(): OperationCounts {
    return this.#turns.counts;
  }

  /** Waits for what is under way, and closes all connections. */
  async close(): Promise<void> {
    this.#turns.close(new DatabaseUnavailableError(CLOSED));
    this.#closed ??= this.#pool.end();
    await this.#closed;
  }

  /** A connection, once it is the turn of its owner, unless none can be made in time. */
  async #connect(owner: string, options?: TurnOptions): Promise<Lease> {
    const giveTurn = await this.#turns.take(owner, options);
    let lease: Lease;
    try {
      lease = await this.#open(giveTurn);
    } catch (error) {
      giveTurn();
      throw error;
    }
    if (options?.signal?.aborted) {
      lease.release({ inDoubt: false });
      throw options.signal.reason;
    }
    return lease;
  }

  #open(onRelease: () => void): Promise<Lease> {
    return new Promise((resolve, reject) => {
      this.#pool.connect((error, client) => {
        if (client) {
          resolve(new Lease(client, onRelease));
        } else {
          reject(this.#toConnectError(error));
        }
      });
    });
  }

  #toConnectError(error: Error | undefined): DatabaseUnavailableError {
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
    return new DatabaseUnavailableError(
      'There is no connection to the database at the moment',
      { retryAfterSeconds: 5 },
    );
  }

  #toError(
    outcome: FailedOutcome,
    settings: TransactionSettings,
    when: { committing: boolean; failedToEnter: boolean },
  ): Error {
    const { error } = outcome;
    const roleRefused =
      settings.asAdmin &&
      when.failedToEnter &&
      error instanceof DatabaseError &&
      !isNotReady(error) &&
      ['42501', '22023'].includes(error.code ?? '');
    if (roleRefused) {
      return new AdminAccessError(
        'portal_admin is not granted to the database user, and this needs it. ' +
          'Grant it, or do without: see --no-admin-grant of the migration.',
      );
    }
    return toCallerError({
      outcome,
      ...when,
      schema: this.schema,
      logger: this.#logger,
    });
  }
}

/** A statement of the caller was refused a table, by its rights or a policy. */
function isRefused({ error, failedAt }: BatchOutcome): boolean {
  return (
    failedAt > 0 && error instanceof DatabaseError && error.code === '42501'
  );
}

/** Whose turn it is. What is done as the administrator is for no tenant's caller. */
function ownerOf({ tenantId, role }: SessionContext): string {
  return role === 'none' ? tenantId : NO_TENANT;
}

/** Node.js tells of several addresses in an error without a message. */
function describe(error: Error | undefined): string {
  return error instanceof AggregateError
    ? error.errors.map(({ message }) => message).join(', ')
    : String(error?.message);
}
