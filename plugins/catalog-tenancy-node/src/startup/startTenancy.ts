import type {
  LoggerService,
  RootConfigService,
  RootLifecycleService,
} from '@backstage/backend-plugin-api';
import { status } from 'backstage-catalog-tenancy-migrations';
import type { Client, ClientConfig } from 'pg';
import { readTenancyConfig, type TenancyConfig } from '../config';
import { TenancyPool } from '../database';
import {
  catalogConnection,
  createCatalogDatabase,
  tenancyConnection,
} from './catalogConnection';
import { checkDatabase } from './check';
import {
  hasEntities,
  isEmpty,
  readLayout,
  readStockSchema,
} from './readLayout';
import { setUp } from './setUp';
import { LAST_PHASE } from './tables';
import { TenancyStartupError } from './TenancyStartupError';
import { explainFault, faultCode, withClient } from './withClient';

/**
 * What the services of tenancy work with.
 *
 * @public
 */
export interface Tenancy {
  /** What is configured under `tenancy`. */
  config: TenancyConfig;
  /** The one pool of connections to the tables of tenants. */
  pool: TenancyPool;
}

/** The error that PostgreSQL answers with for a database that is not there. */
const NO_SUCH_DATABASE = '3D000';

// Without the flag a backend may have any database, or one that is not there, as
// if nothing of this was. A folder for sockets that can't be one: whoever uses the
// pool nevertheless is told that there is no connection.
const NOWHERE: ClientConfig = { host: '/dev/null' };

interface Database {
  /** How the catalog plugin connects. */
  connection: ClientConfig;
  schema: string;
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
  const { schema } = config;
  const connection = await catalogConnection(options.config, logger).catch(
    error => {
      if (config.enabled) {
        throw error;
      }
      logger.info(
        `Multi-tenancy is off, and could not be on: ${error.message}`,
      );
      return undefined;
    },
  );
  const own = connection
    ? tenancyConnection(connection, config.connection)
    : NOWHERE;
  const pool = TenancyPool.create({
    connection: own,
    schema,
    pool: config.pool,
    logger,
  });
  lifecycle.addShutdownHook(() => pool.close());
  if (!connection) {
    return { config, pool };
  }
  if (config.enabled) {
    await ensureDatabase(connection, options);
    await prepare({ connection, schema }, options);
    await ensureLogin(own);
    await checkDatabase(pool, logger).catch(async error => {
      await pool.close();
      throw error;
    });
  } else {
    await logPhase({ connection, schema }, logger);
  }
  return { config, pool };
}

async function ensureDatabase(
  connection: ClientConfig,
  options: { config: RootConfigService; logger: LoggerService },
): Promise<void> {
  try {
    await withClient(connection, async () => undefined);
  } catch (error) {
    if (faultCode(error) !== NO_SUCH_DATABASE) {
      throw explainFault(error, {
        name: 'The database of the catalog',
        key: 'backend.database.connection',
        login: 'it refuses the user or the password',
      });
    }
    await createCatalogDatabase(options.config, options.logger);
  }
}

/** Before the pool does, which would only say that there is no connection. */
async function ensureLogin(connection: ClientConfig): Promise<void> {
  try {
    await withClient(connection, async () => undefined);
  } catch (error) {
    throw explainFault(error, {
      name: `The database, as the user '${connection.user}',`,
      key: 'tenancy.database.connection',
      login:
        'give the user a password (\\password in psql), and the backend the same',
    });
  }
}

async function prepare(
  { connection, schema }: Database,
  { config, logger }: { config: RootConfigService; logger: LoggerService },
): Promise<void> {
  const layout = await withClient(connection, async client => {
    await refuseStockSchema(client, schema, config);
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
        `${await describePhase({ connection, schema })} The backend never ` +
        'migrates it by itself, and serves no catalog until phase ' +
        `${LAST_PHASE} is complete: until then, set MULTI_TENANCY_ENABLED=false.`,
    );
  }
}

/**
 * The stock catalog has tables by the names of ours: where ours come first, it fails
 * to start from then on.
 */
async function refuseStockSchema(
  client: Client,
  schema: string,
  config: RootConfigService,
): Promise<void> {
  if (
    schema === (await readStockSchema(client, config)) &&
    !(await hasEntities(client, schema))
  ) {
    throw new TenancyStartupError(
      `Schema "${schema}" belongs to the tables of Backstage's own catalog, of ` +
        'which relations and refresh_state have the same names as those of ' +
        `tenants: set 'tenancy.schema' to another name, such as "tenancy"`,
    );
  }
}

const UNREADABLE =
  'the database user of the catalog may not read which phases are complete. ' +
  'Next: yarn migrate:status.';

/** Where the migration stands, for a person; never fails. */
async function describePhase(database: Database): Promise<string> {
  // That user may be another one than the operator's.
  const found = await status(database).catch(() => undefined);
  if (!found?.tables.some(({ name }) => name === 'entities')) {
    return UNREADABLE;
  }
  const { phase, phaseBegun, next } = found;
  return [
    phase === 0 ? 'no phase is complete' : `phase ${phase} is complete`,
    phaseBegun ? `, and phase ${phaseBegun} has begun` : '',
    `. Next: ${next.what}`,
    next.command ? ` (${next.command}).` : '.',
  ].join('');
}

async function logPhase(
  database: Database,
  logger: LoggerService,
): Promise<void> {
  const { connection, schema } = database;
  const layout = await withClient(connection, client =>
    readLayout(client, schema),
  ).catch(error =>
    faultCode(error) === NO_SUCH_DATABASE ? 'fresh' : undefined,
  );
  if (layout === 'fresh') {
    logger.info(
      `Multi-tenancy is off, and schema "${schema}" has no tables of tenants. ` +
        'With MULTI_TENANCY_ENABLED=true they are set up.',
    );
  } else if (layout) {
    logger.info(
      `Multi-tenancy is off. Schema "${schema}": ${await describePhase(
        database,
      )}`,
    );
  }
}
