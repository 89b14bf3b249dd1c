import type {
  LoggerService,
  RootConfigService,
  RootLifecycleService,
} from '@backstage/backend-plugin-api';
import {
  isDistributed,
  operatorCommand,
} from 'backstage-catalog-tenancy-migrations';
import { setTimeout as delay } from 'node:timers/promises';
import type { ClientConfig } from 'pg';
import {
  explainFlag,
  readTenancyConfig,
  type TenancyConfig,
  type TenancyPoolLimits,
} from '../config/readTenancyConfig';
import { DatabaseUnavailableError } from '../pool/errors';
import { TenancyPool } from '../pool/TenancyPool';
import { TenantLimits } from '../pool/TenantLimits';
import { ReadReplica } from '../replica/ReadReplica';
import { readTenantLimits } from '../tenants/limits';
import type { RequestsUnderWay } from '../tenants/RequestsUnderWay';
import { DEFAULT_TENANT_ID } from '../tenants/Tenant';
import {
  CATALOG_DATABASE,
  explainFault,
  faultCode,
  findCatalog,
  type LocatedCatalog,
  tenancyConnection,
  withClient,
} from './catalogConnection';
import { type CatalogAdoption, NO_ADOPTION } from './CatalogAdoption';
import { decideAdoption } from './decideAdoption';
import { checkDatabase } from './checkDatabase';
import { ensureLogin } from './ensureLogin';
import { prepareTables } from './prepareTables';
import { reading } from './layout';
import type { TenancyHealth } from './TenancyHealth';
import { TenancyStartupError } from './TenancyStartupError';
import { warnOfMembership } from './warnOfMembership';

/**
 * The dependencies of the services of tenancy.
 *
 * @public
 */
export interface Tenancy {
  /** The configuration under `tenancy`. */
  config: TenancyConfig;
  /** The connection pool to the tables of tenants. */
  pool: TenancyPool;
  /** The limits of single tenants in the registry. */
  limits: TenantLimits;
  /**
   * The connection of the catalog plugin to its own database; undefined unless that is
   * PostgreSQL. The password is not enumerable.
   */
  catalogConnection?: ClientConfig;
  /** The adoption of the stock catalog by the default tenant. */
  adoption: CatalogAdoption;
  /** The read replica, if one is configured. */
  replica?: ReadReplica;
}

/** PostgreSQL's error code for a missing database. */
const NO_SUCH_DATABASE = '3D000';

// With the flag off no database is required: with `/dev/null` as socket folder, any use of the
// pool fails to connect.
const NOWHERE: ClientConfig = { host: '/dev/null' };

const FIRST_CONNECTION_MS = 60_000;
const RETRY_MS = 250;

/** How long an idle connection stays open with the flag off. */
const IDLE_WHEN_OFF_MS = 1_000;

interface StartOptions {
  config: RootConfigService;
  logger: LoggerService;
  lifecycle: RootLifecycleService;
  /** Gets the outcome of the start. */
  health?: Pick<TenancyHealth, 'startFailed' | 'watch'>;
  /** The pools close after these requests are answered. */
  requests?: Pick<RequestsUnderWay, 'answered'>;
}

/**
 * Reads the configuration and creates the pool. With the flag on, it also creates the tables of
 * tenants in a database without them, and checks their isolation. A catalog that is not
 * migrated is left unchanged.
 *
 * @throws {@link TenancyStartupError} that says what to do, which is also logged as one line
 */
export async function startTenancy(options: StartOptions): Promise<Tenancy> {
  let isOn = false;
  try {
    const config = readTenancyConfig(options.config);
    isOn = config.enabled;
    return await start(config, options);
  } catch (error) {
    options.logger.error(explainFailure(error, isOn));
    options.health?.startFailed(error);
    throw error;
  }
}

/**
 * Formats an error as one line. Backstage also logs it with a stack, and leaves the process
 * running.
 */
function explainFailure(error: unknown, isOn: boolean): string {
  const message = error instanceof Error ? error.message : String(error);
  const line = message
    .replace(/:\n- /g, ': ')
    .replace(/\.?\n- /g, '; ')
    .replace(/\s*\n\s*/g, ' ')
    .replace(/\.?$/, '.');
  return [
    `Multi-tenancy failed to start: ${line}`,
    ...(isOn
      ? ['MULTI_TENANCY_ENABLED=false serves without tenants meanwhile.']
      : []),
    'The process ends only if packages/backend/src/index.ts ends it where ' +
      'backend.start() fails.',
  ].join(' ');
}

async function start(
  config: TenancyConfig,
  options: StartOptions,
): Promise<Tenancy> {
  const { health, logger, lifecycle, requests } = options;
  const { schema } = config;
  const misspelt = explainFlag(options.config);
  if (misspelt) {
    logger.warn(misspelt);
  }
  const found = await connect(config, options);
  const own = found?.own ?? NOWHERE;
  const limits = new TenantLimits();
  const pool = TenancyPool.create({
    connection: own,
    limits: config.limits,
    tenantLimits: limits,
    schema,
    pool: config.enabled ? config.pool : shortLived(config.pool),
    whenReady: config.enabled,
    logger,
  });
  lifecycle.addShutdownHook(async () => {
    await requests?.answered();
    await pool.close();
  });
  if (!found || !config.enabled) {
    if (found) {
      logger.info(
        `Multi-tenancy is off. "${operatorCommand(
          'doctor',
        )}" says how the tables of tenants stand.`,
      );
    }
    return { config, pool, limits, adoption: NO_ADOPTION };
  }
  const { connection, catalogSchema } = await ensureDatabase(
    found.catalog,
    options,
  );
  const database = { connection, schema, catalogSchema };
  await prepareTables(database, logger);
  await ensureLogin(own, connection);
  try {
    await connectPatiently(pool);
    await checkDatabase(pool, logger, { catalogUser: connection.user });
    if (config.replica) {
      await refuseReplicaOfNodes(connection, schema);
    }
    await warnOfMembership(pool, config, logger);
    // Before the first request, so that the limits hold from the beginning.
    limits.replace(await readTenantLimits(pool));
    const adoption = await decideAdoption({ database, pool, logger });
    const replica = await startReplica({
      primary: own,
      root: options.config,
      config,
      tenantLimits: limits,
      logger,
    });
    lifecycle.addShutdownHook(async () => {
      await requests?.answered();
      await replica?.close();
    });
    health?.watch(pool);
    return {
      config,
      pool,
      limits,
      catalogConnection: Object.defineProperty({ ...connection }, 'password', {
        value: connection.password,
        enumerable: false,
      }),
      adoption: withPrimaryReadsAfter(adoption, replica),
      replica,
    };
  } catch (error) {
    await pool.close();
    throw error;
  }
}

/**
 * @throws {@link TenancyStartupError} if Citus has distributed the tables: a replica of the
 * coordinator has none of their rows, and its replay position says nothing about them
 */
async function refuseReplicaOfNodes(
  connection: ClientConfig,
  schema: string,
): Promise<void> {
  const distributed = await withClient(connection, client =>
    isDistributed(reading(client), schema),
  );
  if (distributed) {
    throw new TenancyStartupError(
      "The tables of tenants are distributed over the nodes of Citus: remove 'tenancy.database.replica', " +
        'because a replica of the coordinator has no rows of them.',
    );
  }
}

/**
 * With the flag off the pool is rarely used, and a rollback of the tables refuses while
 * `portal_app` has sessions.
 */
function shortLived(pool: TenancyPoolLimits): TenancyPoolLimits {
  const { idleTimeoutMs } = pool;
  return { ...pool, idleTimeoutMs: Math.min(idleTimeoutMs, IDLE_WHEN_OFF_MS) };
}

/** Does not wait for the replica, which may be unavailable. */
async function startReplica(options: {
  primary: ClientConfig;
  root: RootConfigService;
  config: TenancyConfig;
  tenantLimits: TenantLimits;
  logger: LoggerService;
}): Promise<ReadReplica | undefined> {
  const { primary, root, tenantLimits, logger } = options;
  const { connection, replica, schema, pool, limits } = options.config;
  return (
    replica &&
    ReadReplica.create({
      primary,
      replica: await tenancyConnection(root, connection, replica.connection),
      schema,
      pool,
      limits,
      tenantLimits,
      whenReady: true,
      maxStalenessMs: replica.maxStalenessMs,
      // The replica's connection may have another user with other rights.
      check: connections => checkDatabase(connections, logger),
      logger,
    })
  );
}

/** Sends reads to the primary until the replica has replayed the adoption. */
function withPrimaryReadsAfter(
  adoption: CatalogAdoption,
  replica: ReadReplica | undefined,
): CatalogAdoption {
  return {
    get isComplete() {
      return adoption.isComplete;
    },
    async complete(signal) {
      const end = replica?.writing(DEFAULT_TENANT_ID);
      try {
        await adoption.complete(signal);
      } finally {
        end?.();
      }
    },
    retryFaults: () => adoption.retryFaults(),
  };
}

/**
 * The connections of the catalog plugin and of the pool. With the flag off, neither is
 * required.
 */
async function connect(
  { enabled, connection }: TenancyConfig,
  { config, logger }: StartOptions,
): Promise<{ catalog: LocatedCatalog; own: ClientConfig } | undefined> {
  try {
    return {
      catalog: await findCatalog(config),
      own: await tenancyConnection(config, connection),
    };
  } catch (error) {
    if (enabled) {
      throw error;
    }
    logger.info(
      `Multi-tenancy is off, and could not be turned on: ${
        (error as Error).message
      }`,
    );
    return undefined;
  }
}

/** Creates the database and the schema of the catalog, if Backstage would create them. */
async function ensureDatabase(
  found: LocatedCatalog,
  { config }: StartOptions,
): Promise<LocatedCatalog> {
  const isMissing =
    found.fault === undefined
      ? found.catalogSchema === undefined
      : faultCode(found.fault) === NO_SUCH_DATABASE;
  const catalog = isMissing
    ? await findCatalog(config, { create: true })
    : found;
  if (catalog.fault !== undefined) {
    throw explainFault(catalog.fault, CATALOG_DATABASE);
  }
  if (catalog.catalogSchema === undefined) {
    throw new TenancyStartupError(
      "The search path of the catalog's connection names no schema that exists, so its " +
        'tables cannot be found. Create the schema, or set backend.database.ensureSchemaExists.',
    );
  }
  return catalog;
}

/**
 * Waits for the first connection longer than a request would: if many processes start at once,
 * the server or a pooler admits them one by one.
 *
 * @throws `DatabaseUnavailableError` after a minute
 */
async function connectPatiently(pool: TenancyPool): Promise<void> {
  const giveUpAt = performance.now() + FIRST_CONNECTION_MS;
  for (;;) {
    try {
      await pool.query(knex => knex.select(knex.raw('1')), {
        evenIfNotReady: true,
      });
      return;
    } catch (error) {
      if (
        !(error instanceof DatabaseUnavailableError) ||
        performance.now() > giveUpAt
      ) {
        throw error;
      }
      await delay(RETRY_MS);
    }
  }
}
