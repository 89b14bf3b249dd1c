import type { Knex } from 'knex';

/**
 * The tables whose rows belong to tenants, each kept apart by a policy of
 * row-level security.
 *
 * @public
 */
export type TenantTable = 'entities' | 'relations' | 'refresh_state';

/**
 * Derived tables: search terms, and which entity emitted which. Triggers write them, and
 * row-level security keeps them apart as it does the {@link TenantTable}s.
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
   * Builds what {@link TenantScope.table} does not, such as a common table
   * expression. It has no connection: a statement runs only where it is handed to
   * the database of the tenant.
   */
  readonly knex: Knex;

  /**
   * A statement on the rows of the tenant. It carries the predicate on
   * `tenant_id`, by which PostgreSQL looks at the tenant's rows or partition alone;
   * the policy of the table holds without it too.
   *
   * @param alias - by which the rest of the statement calls the table
   */
  table(
    table: TenantTable | TenantSearchTable,
    alias?: string,
  ): Knex.QueryBuilder;

  /**
   * An INSERT of rows of the tenant.
   *
   * @param rows - without a `tenant_id`, which they get here
   */
  insertInto(table: TenantTable, rows: readonly object[]): Knex.QueryBuilder;
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
 * How a query of {@link TenantDatabase} may be answered.
 *
 * @public
 */
export interface TenantQueryOptions {
  /**
   * The statement writes nothing, and its answer may be a little old: a read replica
   * may give it, where there is one. What this process has written to the tenant before
   * is in the answer nevertheless.
   */
  mayBeStale?: boolean;

  /**
   * Once it is aborted, the statement leaves the queue, or is cancelled in PostgreSQL, and
   * the query rejects with the reason of the signal.
   */
  signal?: AbortSignal;

  /**
   * The query continues what has begun to be answered, such as a list that is read in
   * parts: it waits for its turn, rather than fail with {@link TenantBusyError}.
   */
  continues?: boolean;
}

/**
 * The database, as one tenant at a time may see it (specification, "Tenant context
 * for data access").
 *
 * Each operation runs on a pooled connection, in its own transaction whose
 * `app.tenant_id` is the tenant. The setting ends with the transaction. A
 * connection of which it is not certain that it is idle and without a tenant is
 * closed, not used again.
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
