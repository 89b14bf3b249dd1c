import type {
  LoggerService,
  RootConfigService,
  RootLifecycleService,
} from '@backstage/backend-plugin-api';
import { status } from 'backstage-catalog-tenancy-migrations';
import type { ClientConfig } from 'pg';
import { readTenancyConfig, type TenancyConfig } from '../config';
import { TenancyPool } from '../database';
import { catalogConnection, tenancyConnection } from './catalogConnection';
import { checkDatabase } from './check';
import { isEmpty, readLayout } from './readLayout';
import { setUp } from './setUp';
import { LAST_PHASE } from './tables';
import { TenancyStartupError } from './TenancyStartupError';
import { explainFault, withClient } from './withClient';

/** What the services of tenancy work with. */
export interface Tenancy {
  config: TenancyConfig;
  pool: TenancyPool;
}

/**
 * Reads the configuration and makes the pool. With the flag on, it sees to it that
 * the catalogs of tenants can be served: a database without them is set up, one
 * with a catalog that is not migrated is left alone, and any other is checked.
 *
 * @throws {@link TenancyStartupError} where they can't be, with what to do about it
 */
export async function startTenancy(options: {
  config: RootConfigService;
  logger: LoggerService;
  lifecycle: RootLifecycleService;
}): Promise<Tenancy> {
  const { logger, lifecycle } = options;
  const config = readTenancyConfig(options.config);
  const connection = await catalogConnection(options.config, logger).catch(
    error => {
      throw explainFault(error.cause ?? error);
    },
  );
  const pool = TenancyPool.create({
    connection: tenancyConnection(connection, config.connection),
    schema: config.schema,
    pool: config.pool,
    logger,
  });
  lifecycle.addShutdownHook(() => pool.close());
  if (config.enabled) {
    await prepare(connection, config.schema, logger);
    await checkDatabase(pool, logger);
  } else {
    await logPhase(connection, config.schema, logger);
  }
  return { config, pool };
}

async function prepare(
  connection: ClientConfig,
  schema: string,
  logger: LoggerService,
): Promise<void> {
  const layout = await withClient(connection, async client => {
    const found = await readLayout(client, schema);
    return found === 'unmigrated' && (await isEmpty(client, schema))
      ? 'fresh'
      : found;
  });
  if (layout === 'fresh') {
    await setUp({ connection, schema, logger });
  } else if (layout === 'unmigrated') {
    throw new TenancyStartupError(
      `Schema "${schema}" holds a catalog that is not migrated: ` +
        `${await describePhase(
          connection,
          schema,
        )} The backend never migrates ` +
        'it by itself, and serves no catalog until phase ' +
        `${LAST_PHASE} is complete: until then, set MULTI_TENANCY_ENABLED=false.`,
    );
  }
}

/** Where the migration stands, for a person; never fails. */
async function describePhase(
  connection: ClientConfig,
  schema: string,
): Promise<string> {
  try {
    const { phase, phaseBegun, next } = await status({ connection, schema });
    return [
      phase === 0 ? 'no phase is complete' : `phase ${phase} is complete`,
      phaseBegun ? `, and phase ${phaseBegun} has begun` : '',
      `. Next: ${next.what}`,
      next.command ? ` (${next.command}).` : '.',
    ].join('');
  } catch {
    // The database user of the catalog may be another one than the operator's.
    return "the last phase that is complete can't be read by the database user of the catalog. Next: yarn migrate:status.";
  }
}

async function logPhase(
  connection: ClientConfig,
  schema: string,
  logger: LoggerService,
): Promise<void> {
  try {
    const found = await withClient(connection, client =>
      readLayout(client, schema),
    );
    if (found === 'fresh') {
      logger.info(
        `Multi-tenancy is off, and schema "${schema}" has no tables of tenants. ` +
          'With MULTI_TENANCY_ENABLED=true they are set up.',
      );
      return;
    }
    logger.info(
      `Multi-tenancy is off. Schema "${schema}": ${await describePhase(
        connection,
        schema,
      )}`,
    );
  } catch (error) {
    logger.info(
      `Multi-tenancy is off, and where its migration stands can't be read: ${
        explainFault(error).message
      }`,
    );
  }
}
