import type { PostgresConnection } from '@internal/postgres';
import { SCHEMA } from '../catalog/constants';
import { TenancyPool } from './library';

// Each side waits while the others are measured.
const IDLE_TIMEOUT_MS = 3_600_000;

const SILENT = {
  error() {},
  warn() {},
  info() {},
  debug() {},
  child: () => SILENT,
};

/** The connections of the library to the tables of tenants, which logs nothing. */
export function openTenancyPool(
  connection: PostgresConnection & { database: string },
  connections: number,
): TenancyPool {
  return TenancyPool.create({
    connection,
    schema: SCHEMA,
    pool: {
      max: connections,
      idleTimeoutMs: IDLE_TIMEOUT_MS,
      connectionTimeoutMs: 10_000,
    },
    logger: SILENT,
  });
}
