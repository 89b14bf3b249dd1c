import type { Config } from '@backstage/config';
import { ConfigSources } from '@backstage/config-loader';
import { Client } from 'pg';
import type { ClientConfig } from 'pg';
import { UsageError } from '../errors';
import { clientOfCatalog, locateCatalog } from '../session/catalogLocation';

/** Safer than the option: other users of the machine can read arguments. */
export const URL_VARIABLE = 'MIGRATION_DATABASE_URL';

/** The same for the database that a tenant moves to. */
export const TO_URL_VARIABLE = 'MIGRATION_TO_URL';

/** What a URL is to be like, for messages. */
const FORM =
  'postgresql://<user>:<password>@<host>:5432/<database>, with special characters percent-encoded';

/** How to reach the database, and the secrets to redact. */
export interface Connection {
  config: ClientConfig;
  /** Grows when a password is fetched later, such as a cloud provider's token. */
  secrets: Set<string>;
  /** The schema that the catalog plugin works in, where the configuration tells. */
  catalogSchema?: string;
  /** The configuration of Backstage that it is from. */
  backstage?: Config;
  /** Why the database could not be asked for it. */
  fault?: unknown;
}

/**
 * The connection that the operator has chosen: by URL, or else by the
 * configuration of Backstage.
 */
export async function resolveConnection(options: {
  url?: string;
  config?: string[];
}): Promise<Connection> {
  if (options.url !== undefined) {
    return connectionFromUrl(options.url, '--url');
  }
  const url = process.env[URL_VARIABLE];
  // --config takes precedence over the environment.
  if (url && !options.config) {
    return connectionFromUrl(url, `The environment variable ${URL_VARIABLE}`);
  }
  return connectionFromConfig(options.config ?? []);
}

/** That of the deployment to which a tenant moves. */
export async function resolveDestination(options: {
  toUrl?: string;
  toConfig?: string[];
}): Promise<Connection> {
  if (options.toConfig) {
    return connectionFromConfig(
      options.toConfig,
      `the files with --to-config, or a URL in the environment variable ${TO_URL_VARIABLE}`,
    );
  }
  const url = options.toUrl ?? process.env[TO_URL_VARIABLE];
  if (!url) {
    throw new UsageError(
      `The destination is missing. Give its configuration with --to-config, or a URL in the environment variable ${TO_URL_VARIABLE}.`,
    );
  }
  return connectionFromUrl(
    url,
    options.toUrl ? '--to-url' : `The environment variable ${TO_URL_VARIABLE}`,
  );
}

/** The connection that a URL describes. `source` is where the URL comes from. */
function connectionFromUrl(url: string, source: string): Connection {
  const config: ClientConfig = { connectionString: url };
  if (!/^postgres(ql)?:\/\//.test(url)) {
    throw invalid(source);
  }
  let client: Client;
  try {
    client = new Client(config);
  } catch (error) {
    // Not the parser's message, which may contain the password.
    const { path, code, syscall } = error as NodeJS.ErrnoException;
    throw syscall === undefined
      ? invalid(source)
      : new UsageError(
          `${source} names a file that can't be read: ${code}${
            path ? `, '${path}'` : ''
          }.`,
        );
  }
  const { host, password, user } = client;
  if (!user) {
    throw new UsageError(`${source} names no user. Expected ${FORM}.`);
  }
  // With its brackets, an IPv6 address would be looked up as a name.
  if (/^\[.*\]$/.test(host)) {
    const parsed = new URL(url);
    parsed.searchParams.set('host', host.slice(1, -1));
    config.connectionString = parsed.href;
  }
  return {
    config,
    secrets: new Set(typeof password === 'string' ? [password] : []),
  };
}

/** Without the URL, which may have its password anywhere. */
function invalid(source: string): UsageError {
  return new UsageError(
    `${source} is not the URL of a PostgreSQL database. Expected ${FORM}.`,
  );
}

const ALTERNATIVES = `the files with --config, or a URL in the environment variable ${URL_VARIABLE}`;

/**
 * The connection of Backstage's catalog, by Backstage's own database manager. A missing database
 * is a mistake in the configuration, which creating an empty one would hide.
 *
 * @param files - as given with `--config`; none means the default ones
 * @param alternatives - what may be given in their place, for messages
 */
export async function connectionFromConfig(
  files: string[],
  alternatives = ALTERNATIVES,
): Promise<Connection> {
  const config = await loadConfig(files, alternatives);
  const client = clientOfCatalog(config);
  if (client !== 'pg') {
    throw new UsageError(
      `${
        client === undefined
          ? 'The configuration has no backend.database.client'
          : `backend.database.client is "${client}"`
      }, where "pg" is expected. Give ${alternatives}.`,
    );
  }
  const secrets = new Set<string>();
  try {
    const { connection, schema, fault } = await locateCatalog(config, {
      onPassword: password => secrets.add(password),
    });
    return {
      config: connection,
      secrets,
      catalogSchema: schema,
      backstage: config,
      fault,
    };
  } catch (error) {
    throw new UsageError(
      'The database of plugin "catalog" in the configuration of Backstage can\'t ' +
        `be used: ${messageOf(error)}`,
    );
  }
}

/** @throws {@link UsageError} if it can't be read */
export async function loadConfig(
  files: string[],
  alternatives = 'the files with --config',
): Promise<Config> {
  try {
    const config = await ConfigSources.toConfig(
      ConfigSources.default({
        argv: files.map(file => `--config=${file}`),
        env: process.env,
      }),
    );
    config.close();
    return config;
  } catch (error) {
    throw new UsageError(
      `The configuration of Backstage can't be read: ${messageOf(error)}. ` +
        `Give ${alternatives}.`,
    );
  }
}

function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(
    /\.$/,
    '',
  );
}
