/**
 * A major version of PostgreSQL that this package can start.
 *
 * @public
 */
export type PostgresVersion = 14 | 18;

/**
 * What a client needs to log in as the superuser.
 *
 * @public
 */
export type PostgresConnection = {
  host: string;
  port: number;
  user: string;
  password: string;
};

/**
 * Options of {@link Postgres.start}.
 *
 * @public
 */
export type PostgresOptions = {
  /** Defaults to 18. */
  version?: PostgresVersion;
  /** Defaults to a free one. */
  port?: number;
  /**
   * A folder of the server's own, made when missing and kept when the server
   * stops. By default a temporary one that goes with the server, which then runs
   * without protection against power failures.
   */
  dataDirectory?: string;
  /**
   * Where a temporary folder is made, by default where the system has its temporary
   * files. Without effect beside a folder of the server's own.
   */
  temporaryFolder?: string;
  /** Settings as in postgresql.conf, on top of this package's own. */
  settings?: Record<string, string>;
};
