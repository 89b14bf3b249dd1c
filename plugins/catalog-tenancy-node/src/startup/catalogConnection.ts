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
  /** The schema of its tables, also before they are there. */
  catalogSchema?: string;
  /** Why the database could not be asked. */
  fault?: unknown;
}

/**
 * Asks the catalog plugin's own connection where its tables are.
 *
 * @param options - with `create`, a missing database and schema are created as Backstage would
 * @throws {@link TenancyStartupError} where that is no PostgreSQL
 */
export async function findCatalog(
  config: Config,
  options: { create?: boolean } = {},
): Promise<LocatedCatalog> {
  assertPostgres(config);
  const { schema, ...located } = await locateCatalog(config, options);
  return { ...located, catalogSchema: schema };
}

/** The connection as which the application works, and not as its owner. */
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

// A server that is unreachable may not answer at all.
const CONNECT_TIMEOUT_MS = 10_000;

/**
 * Connects, uses the connection, and closes it whatever happens.
 *
 * @param options - with `timeoutMs`, how long connecting and each query may take
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
    code.startsWith('28') ? 'refused' : 'database-away',
  );
}
