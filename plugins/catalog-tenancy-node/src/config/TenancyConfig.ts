import type { ClientConfig } from 'pg';

/**
 * What differs from the connection of the catalog's own database.
 *
 * @public
 */
export type TenancyConnection = Pick<
  ClientConfig,
  'host' | 'port' | 'user' | 'password' | 'database' | 'ssl'
>;

/**
 * How many connections there may be, and for how long one is waited for and kept
 * (specification, "Tenant and runtime limits").
 *
 * @public
 */
export interface TenancyPoolLimits {
  /** Connections; 100 by default. */
  max: number;
  /** For how long an unused connection is kept, in milliseconds; 30,000 by default. */
  idleTimeoutMs: number;
  /** For how long an operation waits for one, in milliseconds; 2,000 by default. */
  connectionTimeoutMs: number;
  /**
   * For how long a single query may take, in milliseconds; 30,000 by default. A
   * `statement_timeout` of the database user, shorter or longer, holds instead.
   */
  statementTimeoutMs?: number;
}

/**
 * A replica of the database, for reads.
 *
 * @public
 */
export interface ReplicaConfig {
  /** Laid over the connection to the primary. */
  connection: TenancyConnection;
  /** How old an answer may be, in milliseconds; 5,000 by default. */
  maxStalenessMs: number;
}

/**
 * The configuration under `tenancy`, read and checked.
 *
 * @public
 */
export interface TenancyConfig {
  /** The flag `MULTI_TENANCY_ENABLED`. */
  enabled: boolean;
  /** The schema of the tables. */
  schema: string;
  /** The key that tokens of tenants are signed with; without one no token counts. */
  jwtSecret?: string;
  /** Whether a token of one tenant is refused in a request for another. */
  requireMatchingToken: boolean;
  /**
   * In lower case. Where there are any, requests to other host names are refused, but
   * for those of base URLs and single labels.
   */
  baseDomains: string[];
  /** Laid over the connection of the catalog's own database. */
  connection: TenancyConnection;
  /** The limits of the one pool that all operations of a process share. */
  pool: TenancyPoolLimits;
  /** Without one, all reads go to the primary. */
  replica?: ReplicaConfig;
}
