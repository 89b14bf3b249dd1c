import type { LoggerService } from '@backstage/backend-plugin-api';
import type { ClientConfig } from 'pg';
import { TenancyPool } from '../pool';

/** How long a server may take to tell how far it is, until it counts as gone. */
export const ANSWER_MS = 2_000;

/** What `pg_stat_activity` calls these connections. */
export const WATCH = 'backstage catalog tenancy replica watch';

/**
 * One connection, to ask a server how far it is. It is apart from those of the
 * operations: or reads would leave the replica, and come on top, just when the primary
 * has no connections left.
 */
export function createProbe(options: {
  connection: ClientConfig;
  schema: string;
  logger: LoggerService;
}): TenancyPool {
  const { connection, schema, logger } = options;
  return TenancyPool.create({
    // A server that vanished does not say so.
    connection: {
      fallback_application_name: WATCH,
      ...connection,
      password: connection.password,
      query_timeout: ANSWER_MS,
    },
    schema,
    pool: {
      max: 1,
      idleTimeoutMs: 60_000,
      connectionTimeoutMs: ANSWER_MS,
      statementTimeoutMs: ANSWER_MS,
    },
    logger,
  });
}
