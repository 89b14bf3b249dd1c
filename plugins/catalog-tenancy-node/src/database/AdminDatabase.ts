import type { Knex } from 'knex';

/**
 * One transaction as `portal_admin`, whom row-level security does not bind.
 *
 * @public
 */
export interface AdminTransaction {
  /** Builds statements. It has no connection. */
  readonly knex: Knex;

  /**
   * Runs a statement and returns its rows.
   *
   * @throws {@link DatabaseStatementError} if PostgreSQL refuses it;
   * {@link DatabaseTimeoutError} if PostgreSQL stops it;
   * {@link DatabaseUnavailableError} if the connection is lost
   */
  query<TRow extends object>(
    statement: Knex.QueryBuilder | Knex.Raw,
  ): Promise<TRow[]>;
}

/**
 * The administrator's path: the only place that acts as `portal_admin`.
 *
 * @public
 */
export interface AdminDatabase {
  /**
   * Runs a transaction as `portal_admin`, and writes an audit event about it.
   *
   * @param reason - what it is for, in a few words without data of tenants: it goes
   * into the audit event
   * @throws {@link AdminAccessError} where `portal_admin` is not granted to the
   * database user; {@link DatabaseUnavailableError} if there is no connection in
   * time; and whatever `work` rejects with
   */
  run<T>(
    reason: string,
    work: (transaction: AdminTransaction) => Promise<T>,
  ): Promise<T>;
}
