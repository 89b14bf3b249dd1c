import type { Knex } from 'knex';

/**
 * One transaction as `portal_admin`, which bypasses row-level security.
 *
 * @public
 */
export interface AdminTransaction {
  /** Builds statements; has no connection. */
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
 * The administrator's path: runs transactions as `portal_admin`, with an audit event for each.
 *
 * @public
 */
export interface AdminDatabase {
  /**
   * Runs a transaction as `portal_admin`, and writes an audit event about it.
   *
   * @param reason - the purpose in a few words, for the audit event; must not contain tenants'
   * data
   * @throws {@link AdminAccessError} where `portal_admin` is not granted to the
   * database user; {@link DatabaseUnavailableError} if there is no connection in
   * time; and whatever `work` rejects with
   */
  run<T>(
    reason: string,
    work: (transaction: AdminTransaction) => Promise<T>,
  ): Promise<T>;
}
