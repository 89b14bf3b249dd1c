import { DatabaseManager } from '@backstage/backend-defaults/database';
import type {
  LifecycleServiceShutdownHook,
  LoggerService,
  RootConfigService,
  RootLifecycleService,
} from '@backstage/backend-plugin-api';
import { type Config, ConfigReader } from '@backstage/config';
import type { JsonObject } from '@backstage/types';
import { connectionOfKnex } from 'backstage-catalog-tenancy-migrations';
import type { Knex } from 'knex';
import { Client, type ClientConfig, DatabaseError } from 'pg';
import type { TenancyConnection } from '../config/readTenancyConfig';
import { TenancyStartupError } from './TenancyStartupError';

const PLUGIN = 'catalog';

// Just to read how it connects, nothing is connected to.
const CREATE_NOTHING = {
  backend: {
    database: {
      ensureExists: false,
      ensureSchemaExists: false,
      plugin: { [PLUGIN]: { ensureExists: false } },
    },
  },
};

/**
 * Backstage's manager of databases keeps timers until it is told to stop, which
 * would go on trying the connection that is closed here.
 */
class Lifecycle implements RootLifecycleService {
  readonly #hooks: LifecycleServiceShutdownHook[] = [];

  addStartupHook(): void {}

  addBeforeShutdownHook(): void {}

  addShutdownHook(hook: LifecycleServiceShutdownHook): void {
    this.#hooks.push(hook);
  }

  async shutdown(): Promise<void> {
    for (const hook of this.#hooks) {
      await hook();
    }
  }
}

/**
 * How the catalog plugin connects to its own database, by Backstage's own reading
 * of its configuration.
 *
 * @throws {@link TenancyStartupError} where that is no PostgreSQL
 */
export async function catalogConnection(
  config: RootConfigService,
  logger: LoggerService,
): Promise<ClientConfig> {
  assertPostgres(config);
  const reading = ConfigReader.fromConfigs([
    { data: config.get<JsonObject>(), context: 'configuration' },
    { data: CREATE_NOTHING, context: 'tenancy' },
  ]);
  return withKnex(reading, logger, async knex =>
    withRole(await connectionOfKnex(knex), config),
  );
}

/** Creates the database of the catalog plugin, where Backstage would do that. */
export async function createCatalogDatabase(
  config: RootConfigService,
  logger: LoggerService,
): Promise<void> {
  await withKnex(config, logger, async () => undefined);
}

async function withKnex<T>(
  config: Config,
  logger: LoggerService,
  use: (knex: Knex) => Promise<T>,
): Promise<T> {
  const lifecycle = new Lifecycle();
  const manager = DatabaseManager.fromConfig(config, {
    rootLifecycle: lifecycle,
  });
  try {
    const knex = await manager
      .forPlugin(PLUGIN, { logger, lifecycle })
      .getClient();
    try {
      return await use(knex);
    } finally {
      await knex.destroy();
    }
  } finally {
    await lifecycle.shutdown();
  }
}

/** The connection as which the application works, and not as its owner. */
export function tenancyConnection(
  catalog: ClientConfig,
  own: TenancyConnection,
): ClientConfig {
  const given = Object.fromEntries(
    Object.entries(own).filter(([, value]) => value !== undefined),
  );
  const connection = {
    ...catalog,
    application_name: 'backstage_tenancy',
    ...given,
  };
  if (own.user === undefined || own.user === catalog.user) {
    return connection;
  }
  // A password belongs to one user, and the role to take on is that user's too.
  return { ...connection, password: own.password, options: undefined };
}

function assertPostgres(config: Config): void {
  const client =
    config.getOptionalString(`backend.database.plugin.${PLUGIN}.client`) ??
    config.getOptionalString('backend.database.client');
  if (client !== 'pg') {
    throw new TenancyStartupError(
      `The catalogs of tenants need PostgreSQL, and the database client of the ` +
        `catalog is '${client ?? 'better-sqlite3'}'. Expected 'pg' at ` +
        `'backend.database.client'.`,
    );
  }
}

/** Backstage sets the role of each connection; here the server does, at its start. */
function withRole(connection: ClientConfig, config: Config): ClientConfig {
  const role =
    config.getOptionalString(`backend.database.plugin.${PLUGIN}.role`) ??
    config.getOptionalString('backend.database.role');
  if (role === undefined) {
    return connection;
  }
  const escaped = role.replace(/[\\\s]/g, character => `\\${character}`);
  return {
    ...connection,
    options: `${connection.options ?? ''} -c role=${escaped}`.trim(),
  };
}

// A server that is unreachable may not answer at all.
const CONNECT_TIMEOUT_MS = 10_000;

/** Connects, uses the connection, and closes it whatever happens. */
export async function withClient<T>(
  connection: ClientConfig,
  use: (client: Client) => Promise<T>,
): Promise<T> {
  const client = new Client({
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    ...connection,
    // Not enumerable where it was hidden.
    password: connection.password,
  });
  // Without a listener a connection that is lost would end the process. The query
  // at work fails as well, and that is what is reported.
  client.on('error', () => {});
  try {
    await client.connect();
    return await use(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/**
 * Tells a fault of the database or the network by its code, and nothing else: its
 * message may name hosts, and its fields hold SQL.
 */
export function faultCode(error: unknown): string | undefined {
  const { code, errors, message } = (error ?? {}) as {
    code?: unknown;
    errors?: unknown[];
    message?: unknown;
  };
  if (typeof code === 'string') {
    return code;
  }
  // Of the driver, which gives them no code.
  if (
    error instanceof DatabaseError ||
    /timeout expired|Connection terminated|SASL/.test(String(message))
  ) {
    return 'no answer that is understood';
  }
  // A name with several addresses has a fault for each.
  return errors?.map(faultCode).find(found => found !== undefined);
}

/** A fault of the database in words; what is none of these stays as it is. */
export function explainFault(
  error: unknown,
  database: { name: string; key: string; login: string },
): unknown {
  const code = faultCode(error);
  if (error instanceof TenancyStartupError || code === undefined) {
    return error;
  }
  const { name, key, login } = database;
  const advice = code.startsWith('28') ? login : 'see that it runs';
  return new TenancyStartupError(
    `${name} can't be used (${code}): ${advice}, and check '${key}'`,
  );
}
