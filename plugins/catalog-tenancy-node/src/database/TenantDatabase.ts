import type { Knex } from 'knex';

/**
 * The tables of tenants' rows, isolated by row-level security.
 *
 * @public
 */
export type TenantTable = 'entities' | 'relations' | 'refresh_state';

/**
 * Derived tables: search terms, and which entity emitted which. Triggers write them; row-level
 * security isolates them too.
 *
 * @public
 */
export type TenantSearchTable = 'entity_terms' | 'entity_parents';

/**
 * Builds statements for one tenant.
 *
 * @public
 */
export interface TenantScope {
  /** The tenant whose rows the statements see. */
  readonly tenantId: string;

  /**
   * Builds other parts of statements, such as common table expressions. Has no connection: a
   * statement runs only when passed to {@link TenantDatabase}.
   */
  readonly knex: Knex;

  /**
   * A statement on the rows of the tenant. Its predicate on `tenant_id` lets PostgreSQL use
   * indexes and prune partitions; the table's policy holds without it.
   *
   * @param alias - the table's alias in the statement
   */
  table(
    table: TenantTable | TenantSearchTable,
    alias?: string,
  ): Knex.QueryBuilder;
}

/**
 * One transaction in the context of one tenant.
 *
 * @public
 */
export interface TenantTransaction extends TenantScope {
  /**
   * Runs a statement and returns its rows.
   *
   * @throws like {@link TenantDatabase.query}
   */
  query<TRow extends object>(
    statement: Knex.QueryBuilder | Knex.Raw,
  ): Promise<TRow[]>;
}

/**
 * Options of {@link TenantDatabase.query}.
 *
 * @public
 */
export interface TenantQueryOptions {
  /**
   * The statement writes nothing, and a read replica may answer it with a small delay. The
   * answer includes what this process has written to the tenant before.
   */
  mayBeStale?: boolean;

  /**
   * On abort, the statement leaves the queue or is cancelled in PostgreSQL, and the query
   * rejects with the reason of the signal.
   */
  signal?: AbortSignal;

  /**
   * The query continues a response that has begun, such as a list that is read in parts: it
   * waits in the tenant's queue instead of failing with {@link TenantBusyError}.
   */
  continues?: boolean;
}

/**
 * Runs statements in the context of one tenant (specification, "Tenant context for data
 * access").
 *
 * Each operation runs on a pooled connection, in its own transaction with `app.tenant_id` set
 * to the tenant. The setting ends with the transaction. A connection that is not certainly idle
 * and without a tenant is closed, not reused.
 *
 * @public
 */
export interface TenantDatabase {
  /**
   * Runs one statement and returns its rows, in a single round trip.
   *
   * @param tenantId - a UUID
   * @throws `InputError` unless it is a UUID, before anything is sent;
   * {@link DatabaseUnavailableError} if there is no connection in time, or it is
   * lost; {@link TenantBusyError} if the tenant has too much under way;
   * {@link DatabaseTimeoutError} if PostgreSQL stops the statement;
   * {@link DatabaseStatementError} if it refuses the statement
   */
  query<TRow extends object>(
    tenantId: string,
    build: (scope: TenantScope) => Knex.QueryBuilder | Knex.Raw,
    options?: TenantQueryOptions,
  ): Promise<TRow[]>;

  /**
   * Runs several statements in one transaction, which is committed when `work`
   * resolves and rolled back when it rejects.
   *
   * @param tenantId - a UUID
   * @throws like {@link TenantDatabase.query}, and whatever `work` rejects with
   */
  transaction<T>(
    tenantId: string,
    work: (transaction: TenantTransaction) => Promise<T>,
  ): Promise<T>;
}
