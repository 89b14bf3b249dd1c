import type { Config } from '@backstage/config';
import {
  connectionOfCatalog,
  locateCatalog,
} from 'backstage-catalog-tenancy-migrations';
import { Client, type ClientConfig, DatabaseError } from 'pg';
import type { TenancyConnection } from '../config/readTenancyConfig';
import { TenancyStartupError } from './TenancyStartupError';

/** Where the stock catalog has its tables. */
export interface LocatedCatalog {
  /** How the catalog plugin connects, acting as the configured role. */
  connection: ClientConfig;
  /** The schema of its tables, even before they exist. */
  catalogSchema?: string;
  /** The error, if the database could not be queried. */
  fault?: unknown;
}

/**
 * Finds the schema of the stock catalog's tables, on the catalog plugin's own connection.
 *
 * @param options - `create`: creates a missing database and schema as Backstage would
 * @throws {@link TenancyStartupError} unless the database is PostgreSQL
 */
export async function findCatalog(
  config: Config,
  options: { create?: boolean } = {},
): Promise<LocatedCatalog> {
  assertPostgres(config);
  const { schema, ...located } = await locateCatalog(config, options);
  return { ...located, catalogSchema: schema };
}

/** The connection of the application's database user. */
export async function tenancyConnection(
  config: Config,
  ...differences: TenancyConnection[]
): Promise<ClientConfig> {
  return {
    ...(await connectionOfCatalog(config, differences)),
    application_name: 'backstage_tenancy',
  };
}

function assertPostgres(config: Config): void {
  const client =
    config.getOptionalString('backend.database.plugin.catalog.client') ??
    config.getOptionalString('backend.database.client');
  if (client !== 'pg') {
    throw new TenancyStartupError(
      `The catalogs of tenants need PostgreSQL, and the database client of the ` +
        `catalog is '${client ?? 'better-sqlite3'}'. Expected 'pg' at ` +
        `'backend.database.client'.`,
    );
  }
}

// An unreachable server may not answer at all.
const CONNECT_TIMEOUT_MS = 10_000;

/**
 * Connects, calls `use`, and closes the connection.
 *
 * @param options - `timeoutMs`: the time limit of connecting and of each query
 */
export async function withClient<T>(
  connection: ClientConfig,
  use: (client: Client) => Promise<T>,
  { timeoutMs }: { timeoutMs?: number } = {},
): Promise<T> {
  const client = new Client({
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    ...connection,
    ...(timeoutMs && {
      connectionTimeoutMillis: timeoutMs,
      query_timeout: timeoutMs,
    }),
    // The password may be non-enumerable.
    password: connection.password,
  });
  // Without a listener, a lost connection would end the process. The running query rejects as
  // well.
  client.on('error', () => {});
  try {
    await client.connect();
    return await use(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/**
 * The code of an error of the database or the network; undefined for other errors. Its message
 * may name hosts, and its fields contain SQL.
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
  // Errors of the driver, which have no code.
  if (/timeout expired|Query read timeout/.test(String(message))) {
    return 'no answer in time';
  }
  if (
    error instanceof DatabaseError ||
    /Connection terminated|SASL/.test(String(message))
  ) {
    return 'no valid answer';
  }
  // A host name with several addresses has an error for each.
  return errors?.map(faultCode).find(found => found !== undefined);
}

/** For a database that answers. */
const ADVICE: ReadonlyMap<string, string> = new Map([
  ['42501', 'grant CONNECT on it to that user'],
  ['53300', 'it has no session left: raise max_connections'],
]);

/** How {@link explainFault} names the database of the catalog. */
export const CATALOG_DATABASE = {
  name: 'The database of the catalog',
  key: 'backend.database.connection',
  login: 'it refuses the user or the password',
};

/** Explains an error of the database; returns other errors unchanged. */
export function explainFault(
  error: unknown,
  database: { name: string; key: string; login: string },
): unknown {
  const code = faultCode(error);
  if (error instanceof TenancyStartupError || code === undefined) {
    return error;
  }
  const { name, key, login } = database;
  const advice = code.startsWith('28') ? login : ADVICE.get(code);
  return new TenancyStartupError(
    `${name} cannot be used (${code}): ${
      advice ?? 'see that it runs'
    }, and check '${key}'`,
    advice ? 'refused' : 'database-away',
  );
}
