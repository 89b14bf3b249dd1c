import { readHttpServerOptions } from '@backstage/backend-defaults/rootHttpRouter';
import { Config } from '@backstage/config';
import { ConfigSources } from '@backstage/config-loader';
import { once } from 'events';
import { createServer } from 'net';
import { resolve } from 'path';
import { parseArgs } from 'util';

/** Something that the person who typed `npm start` can act upon, on one line. */
export class StartError extends Error {}

const USAGE = `Usage: npm start -- [--no-app] [--config <file>]...

  --no-app          run the backend alone, without building and serving pages
  --config <file>   a configuration file in place of app-config.yaml and
                    app-config.local.yaml; may be given several times
  --help            print this
`;

/** What was asked of `npm start`. */
export interface Arguments {
  /** Configuration files, as the backend takes them, which runs in another folder. */
  config: string[];
  /** Whether to build and serve the pages. */
  app: boolean;
  /** What to print instead of starting. */
  help?: string;
}

/** Checks the arguments of `npm start -- …`. */
export function parseArguments(args: string[]): Arguments {
  try {
    const { values } = parseArgs({
      args,
      options: {
        config: { type: 'string', multiple: true },
        help: { type: 'boolean', short: 'h' },
        'no-app': { type: 'boolean' },
      },
    });
    return {
      config: (values.config ?? []).flatMap(file => [
        '--config',
        resolve(file),
      ]),
      app: !values['no-app'],
      ...(values.help && { help: USAGE }),
    };
  } catch (error) {
    throw new StartError(`${(error as Error).message}. ${USAGE}`);
  }
}

/** What `npm start` needs to know of the backend's configuration. */
export type Settings = {
  listen: { host: string; port: number };
  /** Where this machine reaches the backend, whatever the world calls it. */
  localUrl: string;
  baseUrl: string;
  /** Which packages' plugins the pages have (`app.packages`). */
  appPackages: string;
  /** Describes the database that was configured, if one was. */
  ownDatabase?: string;
  hasGuest: boolean;
  /** Whether the catalog reads the examples of this repository. */
  hasSamples: boolean;
  tenancy: {
    /** Whether the flag is on. */
    enabled: boolean;
    /** Whether a database user of its own is configured for it. */
    hasUser: boolean;
    /** The schema of its tables. */
    schema: string;
    /** The database of the catalog, unless plugins share one. */
    catalogDatabase?: string;
  };
};

/** Reads the configuration exactly as the backend itself will. */
export async function loadSettings(args: string[]): Promise<Settings> {
  try {
    const sources = ConfigSources.default({ argv: args, watch: false });
    const config = await ConfigSources.toConfig(sources);
    config.close();
    return readSettings(config);
  } catch (error) {
    throw new StartError(
      `The configuration is not usable: ${(error as Error).message}`,
    );
  }
}

/** @see {@link Settings} */
export function readSettings(config: Config): Settings {
  const { listen, https } = readHttpServerOptions(config.getConfig('backend'));
  const isWildcard = ['', '0.0.0.0', '::'].includes(listen.host);
  const host = isWildcard ? 'localhost' : listen.host;
  return {
    listen,
    localUrl: `${https ? 'https' : 'http'}://${host}:${listen.port}`,
    baseUrl: config.getString('backend.baseUrl'),
    appPackages: JSON.stringify(config.getOptional('app.packages') ?? null),
    ownDatabase: describeOwnDatabase(config),
    hasGuest: config.has('auth.providers.guest'),
    hasSamples: readsSamples(config),
    tenancy: {
      enabled: String(config.getOptional('tenancy.enabled')) === 'true',
      hasUser: config.has('tenancy.database.connection.user'),
      schema: config.getOptionalString('tenancy.schema') ?? 'tenancy',
      catalogDatabase: nameCatalogDatabase(config),
    },
  };
}

function readsSamples(config: Config): boolean {
  const locations = config.getOptionalConfigArray('catalog.locations') ?? [];
  return locations.some(location =>
    location.getOptionalString('target')?.endsWith('examples/entities.yaml'),
  );
}

/** As Backstage names it, where each plugin has a database of its own. */
function nameCatalogDatabase(config: Config): string | undefined {
  const database = config.getConfig('backend.database');
  if (database.getOptionalString('pluginDivisionMode') === 'schema') {
    return undefined;
  }
  const prefix = database.getOptionalString('prefix') ?? 'backstage_plugin_';
  const own = database.getOptional('plugin.catalog.connection');
  return typeof own === 'object' && own !== null && 'database' in own
    ? String(own.database)
    : `${prefix}catalog`;
}

function describeOwnDatabase(config: Config): string | undefined {
  const client = config.getString('backend.database.client');
  const connection = config.getOptional('backend.database.connection');
  if (client !== 'pg') {
    return client;
  }
  if (typeof connection === 'string') {
    return describeUrl(connection);
  }
  // Without a host pg would use localhost, which the user has not asked for: it is what
  // app-config.yaml amounts to when POSTGRES_HOST is not set.
  const host = config.getOptionalString('backend.database.connection.host');
  const port = config.getOptional('backend.database.connection.port');
  return host && (port ? `${host}:${port}` : host);
}

/** The host only: there is a password in the rest. */
function describeUrl(connectionString: string): string {
  return URL.canParse(connectionString)
    ? new URL(connectionString).host
    : 'as configured';
}

/** Fails early and on one line, where the backend would do so late and on many. */
export async function assertPortIsFree(listen: {
  host: string;
  port: number;
}): Promise<void> {
  const probe = createServer();
  try {
    probe.listen(listen.port, listen.host);
    await once(probe, 'listening');
  } catch (error) {
    throw new StartError(explain(listen, error as NodeJS.ErrnoException));
  }
  probe.close();
  await once(probe, 'close');
}

function explain(
  { host, port }: { host: string; port: number },
  error: NodeJS.ErrnoException,
): string {
  return error.code === 'EADDRINUSE'
    ? `Port ${port} is taken, maybe by another \`npm start\`: stop that, or set ` +
        `backend.listen.port, backend.baseUrl and app.baseUrl in app-config.local.yaml`
    : `The backend can't listen on ${host}:${port}: ${error.message}`;
}
