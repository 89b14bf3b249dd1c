import type { LoggerService } from '@backstage/backend-plugin-api';
import {
  migrateTo,
  OtherOperatorError,
  type Reporter,
} from 'backstage-catalog-tenancy-migrations';
import type { ClientConfig } from 'pg';
import { setTimeout as delay } from 'node:timers/promises';
import { LAST_PHASE } from './tables';

// Another process of the backend is at work for some seconds.
const PATIENCE_MS = 120_000;
const POLL_MS = 500;

/**
 * Takes a database without entities to the end of phase 5. Of several processes
 * that start at once, one does, and the others wait for it.
 */
export async function setUp(options: {
  connection: ClientConfig;
  schema: string;
  logger: LoggerService;
}): Promise<void> {
  const { connection, schema, logger } = options;
  logger.info(
    `Setting up the tables of tenants in schema "${schema}", which has none yet`,
  );
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    try {
      await migrateTo(LAST_PHASE, {
        connection,
        schema,
        createTables: true,
        // Empty ones are no way back that anybody needs, and while they are kept
        // every write is logged for it.
        keepOldTables: false,
        // The catalog plugin of this very process, which writes to none of them,
        // would count as the application from before.
        force: true,
        reporter: reporterOf(logger),
      });
      return;
    } catch (error) {
      if (!(error instanceof OtherOperatorError) || Date.now() > deadline) {
        throw error;
      }
      await delay(POLL_MS);
    }
  }
}

function reporterOf(logger: LoggerService): Reporter {
  return {
    info: message => logger.debug(message),
    // What it warns of is about tables that were in use before.
    warn: message => logger.debug(message),
    waiting: (what, attempts) =>
      logger.info(`Waiting for a lock (attempt ${attempts}): ${what}`),
    progress: () => ({ advance: () => {}, finish: () => {} }),
  };
}
