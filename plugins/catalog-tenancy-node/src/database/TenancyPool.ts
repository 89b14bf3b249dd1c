import { NotImplementedError } from '@backstage/errors';
import type { LoggerService } from '@backstage/backend-plugin-api';
import type { Knex } from 'knex';
import type { ClientConfig } from 'pg';
import type { TenancyPoolLimits } from '../config';

/**
 * As whom a transaction works.
 *
 * @public
 */
export interface TransactionSettings {
  /** The tenant whose rows it sees. A UUID. */
  tenantId?: string;
  /** Acts as `portal_admin`. Only the administrator's path does. */
  asAdmin?: boolean;
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
  /** Runs a statement and returns its rows. */
  query<TRow extends object>(
    statement: Knex.QueryBuilder | Knex.Raw,
  ): Promise<TRow[]>;
}

/** @public */
export interface TenancyPoolOptions {
  connection: ClientConfig;
  /** The schema of the tables. */
  schema: string;
  pool: TenancyPoolLimits;
  logger: LoggerService;
}

/**
 * The connections of this process to the tables of tenants.
 *
 * @public
 */
export class TenancyPool {
  /** How it connects. The password is not enumerable. */
  readonly connection: ClientConfig;
  /** The schema of the tables. */
  readonly schema: string;

  /** It connects when there is something to do. */
  static create(options: TenancyPoolOptions): TenancyPool {
    return new TenancyPool(options);
  }

  private constructor({ connection, schema }: TenancyPoolOptions) {
    this.connection = connection;
    this.schema = schema;
  }

  /**
   * Runs one statement and returns its rows, in a single round trip. Without
   * `tenantId`, it sees the registry only.
   *
   * @throws {@link DatabaseUnavailableError} if there is no connection in time
   */
  async query<TRow extends object>(
    _build: BuildStatement,
    _settings: TransactionSettings = {},
  ): Promise<TRow[]> {
    throw new NotImplementedError('TenancyPool');
  }

  /**
   * Runs several statements in one transaction, which is committed when `work`
   * resolves and rolled back when it rejects.
   *
   * @throws like {@link TenancyPool.query}, and whatever `work` rejects with
   */
  async transaction<T>(
    _settings: TransactionSettings,
    _work: (transaction: PoolTransaction) => Promise<T>,
  ): Promise<T> {
    throw new NotImplementedError('TenancyPool');
  }

  /** Waits for what is under way, and closes all connections. */
  async close(): Promise<void> {
    throw new NotImplementedError('TenancyPool');
  }
}
