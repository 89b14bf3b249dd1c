/**
 * Real PostgreSQL servers for development, tests and benchmarks.
 *
 * @packageDocumentation
 */

export { availableVersions } from './binaries';
export { PostgresStartError } from './errors';
export { freePort } from './freePort';
export { findPgBouncer, PgBouncer } from './PgBouncer';
export type { PgBouncerOptions, PgBouncerTarget } from './PgBouncer';
export { Postgres } from './Postgres';
export { ReplicatedPostgres } from './ReplicatedPostgres';
export type {
  PostgresConnection,
  PostgresOptions,
  PostgresVersion,
} from './types';
export { Random } from './Random';
export { withClient } from './withClient';
