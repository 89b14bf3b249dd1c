import { DatabaseManager } from '@backstage/backend-defaults/database';
import { type AppConfig, type Config, ConfigReader } from '@backstage/config';
import type { Knex } from 'knex';
import { Client } from 'pg';
import type { ClientConfig } from 'pg';
import { actingConnectionOfKnex, connectionOfKnex } from './connectionOfKnex';
import { explainConnect } from './explainConnect';

const PLUGIN = 'catalog';
const DATABASE = 'backend.database';

/** An unreachable server may never answer. */
const CONNECT_TIMEOUT_MS = 10_000;

const MISSING_DATABASE = '3D000';

type JsonObject = AppConfig['data'];
type Dependencies = Parameters<DatabaseManager['forPlugin']>[1];
type ShutdownHook = () => void | Promise<void>;

/**
 * What differs from the connection of the catalog plugin, as `backend.database.connection` has
 * it: a URL, or an object.
 *
 * @public
 */
export type ConnectionDifference = string | object;

/**
 * Where the catalog plugin of a Backstage backend has its tables.
 *
 * @public
 */
export interface CatalogLocation {
  /** How the plugin connects, acting as the configured role. */
  connection: ClientConfig;
  /**
   * The schema in which its connection finds `final_entities`, or would create it. Undefined if
   * its search path names no schema that exists, or with a fault.
   */
  schema?: string;
  /** Why the database could not be asked; `connection` has no role then. */
  fault?: unknown;
}

/** The client of the catalog plugin's database, such as `pg`. */
export function clientOfCatalog(config: Config): string | undefined {
  return (
    config.getOptionalString(`${DATABASE}.plugin.${PLUGIN}.client`) ??
    config.getOptionalString(`${DATABASE}.client`)
  );
}

/**
 * Asks the catalog plugin's own connection, made by Backstage's database manager, where its
 * tables are: the mode, prefixes and search path of the configuration hold, and those of the
 * database and the login.
 *
 * @param options - with `create`, Backstage creates a missing database and schema as it does
 * for the plugin; `onPassword` is called with every password
 * @public
 */
export async function locateCatalog(
  config: Config,
  options: {
    create?: boolean;
    onPassword?: (password: string) => void;
  } = {},
): Promise<CatalogLocation> {
  const { create = false, onPassword } = options;
  const database = readDatabase(config);
  return withKnex(create ? database : creatingNothing(database), async knex => {
    const connection = await connectionOfKnex(knex, onPassword);
    const fault = await tryConnection(connection);
    if (fault !== undefined) {
      return { connection, fault };
    }
    const { rows } = await knex.raw(
      `select coalesce(
                (select n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace
                  where c.oid = to_regclass('final_entities')),
                current_schema()) as schema`,
    );
    const [{ schema }] = rows as { schema: string | null }[];
    return {
      connection: await actingConnectionOfKnex(knex, onPassword),
      schema: schema ?? undefined,
    };
  });
}

/** Without Knex, which logs a fault, and calls a server that does not answer a full pool. */
async function tryConnection(connection: ClientConfig): Promise<unknown> {
  const client = new Client({
    ...connection,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  // The error of a connection that is lost afterwards would end the process.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return undefined;
  } catch (error) {
    return error;
  } finally {
    await client.end().catch(() => undefined);
  }
}

/**
 * The connection of the catalog plugin with differences, the later ones over the earlier.
 * Backstage's database manager makes it, so that each `type` works for another user or host too:
 * a token is signed for the user and the host that are named. It does not connect.
 *
 * A password, a role and other options belong to one user: another `user` has only those of its
 * own difference.
 *
 * @public
 */
export async function connectionOfCatalog(
  config: Config,
  differences: ConnectionDifference[] = [],
): Promise<ClientConfig> {
  const database = creatingNothing(readDatabase(config));
  const base = await toObject(database.connection);
  const own = await toObject(pluginOf(database).connection);
  for (const difference of differences) {
    const { ...given } = await toObject(difference);
    const user = own.user ?? base.user;
    if (given.user !== undefined && given.user !== user) {
      for (const connection of [base, own]) {
        delete connection.password;
        delete connection.options;
      }
    }
    // A password that is given is no token.
    const type = given.password === undefined ? {} : { type: 'default' };
    Object.assign(own, type, given);
  }
  return withKnex(
    withPlugin({ ...database, connection: base }, { connection: own }),
    knex => connectionOfKnex(knex),
  );
}

/** Besides those of `backend.database.plugin`, a plugin of this product. */
const OWN_PLUGINS = ['mockup'];

/**
 * The connections of other plugins that have one of their own, acting as the configured role.
 * Those without a database are left out.
 */
export async function locatePlugins(
  config: Config | undefined,
): Promise<{ plugin: string; connection: ClientConfig }[]> {
  if (!config) {
    return [];
  }
  const database = readDatabase(config);
  const configured = Object.keys((database.plugin ?? {}) as JsonObject);
  const found: { plugin: string; connection: ClientConfig }[] = [];
  for (const plugin of new Set([...configured, ...OWN_PLUGINS])) {
    await withKnex(
      creatingNothing(database, plugin),
      async knex => {
        if (knex.client.config.client !== 'pg') {
          return;
        }
        const connection = await connectionOfKnex(knex);
        const fault = await tryConnection(connection);
        if (fault === undefined) {
          found.push({
            plugin,
            connection: await actingConnectionOfKnex(knex),
          });
        } else if ((fault as { code?: string }).code !== MISSING_DATABASE) {
          throw explainConnect(fault, connection);
        }
      },
      plugin,
    );
  }
  return found;
}

function readDatabase(config: Config): JsonObject {
  return config.get<JsonObject>(DATABASE);
}

function pluginOf(database: JsonObject, plugin = PLUGIN): JsonObject {
  const plugins = (database.plugin ?? {}) as JsonObject;
  return (plugins[plugin] ?? {}) as JsonObject;
}

function withPlugin(
  database: JsonObject,
  settings: JsonObject,
  plugin = PLUGIN,
): JsonObject {
  return {
    ...database,
    plugin: {
      ...(database.plugin as JsonObject),
      [plugin]: { ...pluginOf(database, plugin), ...settings },
    },
  };
}

function creatingNothing(database: JsonObject, plugin = PLUGIN): JsonObject {
  return withPlugin(
    { ...database, ensureExists: false, ensureSchemaExists: false },
    { ensureExists: false },
    plugin,
  );
}

/** A copy, for which Backstage parses a URL. */
async function toObject(connection: unknown): Promise<JsonObject> {
  if (typeof connection !== 'string') {
    return { ...(connection as JsonObject | undefined) };
  }
  const database = creatingNothing({
    client: 'pg',
    connection,
    // The other mode puts the plugin's database in the place of the URL's.
    pluginDivisionMode: 'schema',
  });
  const { application_name: _, ...parsed } = await withKnex(database, knex =>
    connectionOfKnex(knex),
  );
  // What the URL lacks must not hide what it would be laid over.
  return Object.fromEntries(
    Object.entries(parsed as object).filter(
      ([, value]) => (value ?? '') !== '',
    ),
  );
}

/** Uses the Knex instance that Backstage makes for the plugin. It connects with its first query. */
async function withKnex<T>(
  database: JsonObject,
  use: (knex: Knex) => Promise<T>,
  plugin = PLUGIN,
): Promise<T> {
  // The manager's timer keeps running until its shutdown hooks have run.
  const hooks: ShutdownHook[] = [];
  const lifecycle = {
    addStartupHook: () => undefined,
    addBeforeShutdownHook: () => undefined,
    addShutdownHook: (hook: ShutdownHook) => {
      hooks.push(hook);
    },
  };
  const logger = {
    error: () => undefined,
    warn: () => undefined,
    info: () => undefined,
    debug: () => undefined,
    child: () => logger,
  } as unknown as Dependencies['logger'];
  const manager = DatabaseManager.fromConfig(
    new ConfigReader({ backend: { database } }),
    { rootLifecycle: lifecycle },
  );
  try {
    const knex = await manager
      .forPlugin(plugin, { logger, lifecycle })
      .getClient();
    try {
      return await use(knex);
    } finally {
      await knex.destroy();
    }
  } finally {
    for (const hook of hooks) {
      await hook();
    }
  }
}
