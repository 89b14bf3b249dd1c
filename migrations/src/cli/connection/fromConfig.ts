import { DatabaseManager } from '@backstage/backend-defaults/database';
import type { DatabaseManagerOptions } from '@backstage/backend-defaults/database';
import { ConfigSources, StaticConfigSource } from '@backstage/config-loader';
import type { Config } from '@backstage/config';
import type { Knex } from 'knex';
import { UsageError } from '../usageError';
import { connectionOfKnex } from '../../session/connectionOfKnex';
import type { Connection } from './Connection';

type Dependencies = Parameters<DatabaseManager['forPlugin']>[1];
type ShutdownHook = () => void | Promise<void>;

const PLUGIN = 'catalog';

const ALTERNATIVES =
  'the files with --config, or a URL in the environment variable MIGRATION_DATABASE_URL';

// Nothing is created on the way: a database that is missing is a mistake in the
// configuration, and a new empty one would hide it.
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
 * The connection of Backstage's catalog, by Backstage's own reading of its
 * configuration.
 *
 * @param files - as given with `--config`; none means the default ones
 */
export async function connectionFromConfig(
  files: string[],
): Promise<Connection> {
  const config = await loadConfig(files);
  const client =
    config.getOptionalString(`backend.database.plugin.${PLUGIN}.client`) ??
    config.getOptionalString('backend.database.client');
  if (client !== 'pg') {
    throw new UsageError(
      client === undefined
        ? `The configuration has no backend.database.client, where "pg" is expected. Give ${ALTERNATIVES}.`
        : `backend.database.client is "${client}", where "pg" is expected: the ` +
          'multi-tenant catalog needs PostgreSQL.',
    );
  }
  return await withKnex(config, async knex => {
    const secrets = new Set<string>();
    const connection = await connectionOfKnex(knex, password =>
      secrets.add(password),
    );
    const role = config.getOptionalString('backend.database.role');
    return {
      config: role ? withRole(connection, role) : connection,
      secrets,
    };
  });
}

async function loadConfig(files: string[]): Promise<Config> {
  try {
    const config = await ConfigSources.toConfig(
      ConfigSources.merge([
        ConfigSources.default({
          argv: files.map(file => `--config=${file}`),
          env: process.env,
        }),
        StaticConfigSource.create({ data: CREATE_NOTHING }),
      ]),
    );
    config.close();
    return config;
  } catch (error) {
    throw new UsageError(
      `The configuration of Backstage can't be read: ${messageOf(error)}. ` +
        `Give ${ALTERNATIVES}.`,
    );
  }
}

/** Uses Backstage's Knex instance, of which only the settings are of interest. */
async function withKnex<T>(
  config: Config,
  use: (knex: Knex) => Promise<T>,
): Promise<T> {
  // Backstage's manager keeps a timer running until it is told to stop.
  const hooks: ShutdownHook[] = [];
  const lifecycle = {
    addStartupHook: () => undefined,
    addBeforeShutdownHook: () => undefined,
    addShutdownHook: (hook: ShutdownHook) => {
      hooks.push(hook);
    },
  };
  const manager = DatabaseManager.fromConfig(config, {
    rootLifecycle: lifecycle as DatabaseManagerOptions['rootLifecycle'],
  });
  const logger = {
    error: () => undefined,
    warn: () => undefined,
    info: () => undefined,
    debug: () => undefined,
    child: () => logger,
  } as unknown as Dependencies['logger'];
  try {
    const knex = await manager
      .forPlugin(PLUGIN, { logger, lifecycle })
      .getClient();
    try {
      return await use(knex);
    } finally {
      await knex.destroy();
    }
  } catch (error) {
    throw new UsageError(
      `The database of plugin "${PLUGIN}" in the configuration of Backstage can't ` +
        `be used: ${messageOf(error)}`,
    );
  } finally {
    for (const hook of hooks) {
      await hook();
    }
  }
}

/** Backstage sets the role of each connection; here the server does, at its start. */
function withRole(
  connection: Connection['config'],
  role: string,
): Connection['config'] {
  const escaped = role.replace(/[\\\s]/g, character => `\\${character}`);
  return {
    ...connection,
    options: `${connection.options ?? ''} -c role=${escaped}`.trim(),
  };
}

function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(
    /\.$/,
    '',
  );
}
