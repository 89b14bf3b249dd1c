import type { createBackend } from '@backstage/backend-defaults';
import type { ConfigReader } from '@backstage/config';
import { freePort, type PostgresConnection } from '@internal/postgres';
import { ask } from './load';
import { HOST } from './servers';

/** The user whom the guest's token names. */
export const USER = 'user:default/guest';

/** The token of a service that calls a backend, and its subject. */
export const SERVICE_TOKEN = 'only-for-benchmarks';
export const SERVICE_SUBJECT = 'benchmark';

/** How many connections each pool of a backend may have to its database. */
export const POOL_SIZE = 10;

/** The schema of our tables, in the database of the catalog. */
export const SCHEMA = 'tenancy';

/** The login that reads the rows of tenants; its server is gone after the run. */
export const APP_LOGIN = 'portal_app';
export const PASSWORD = 'only-for-benchmarks';

/** How a server reaches its database. */
export type DatabaseConnection = PostgresConnection & { database: string };

type Backend = ReturnType<typeof createBackend>;

/** What a file of configuration has. */
export type Config = NonNullable<ConstructorParameters<typeof ConfigReader>[0]>;

/** A backend to be started, as it runs in production. */
interface BackendOptions {
  /** The database of the catalog. The other plugins have databases of their own. */
  connection: DatabaseConnection;
  /** How many connections each plugin may have; Backstage's default otherwise. */
  poolSize?: number;
  /** Whether guests may sign in. */
  withGuest?: boolean;
  config: Config;
  features: Array<Parameters<Backend['add']>[0]>;
}

/** Starts a Backstage backend with this configuration alone, and returns its URL. */
export async function startBackend(options: BackendOptions): Promise<string> {
  // Loaded here: the process that measures starts no backend itself.
  const [{ createBackend: create }, plugins, config] = await Promise.all([
    import('@backstage/backend-defaults'),
    import('@backstage/backend-plugin-api'),
    import('@backstage/config'),
  ]);
  // Backstage verifies tokens through its own URL, so it must know its port beforehand.
  const port = await freePort(HOST);
  const url = `http://${HOST}:${port}`;
  const reader = new config.ConfigReader(configOf(options, url, port));
  const backend = create();
  backend.add(
    plugins.createServiceFactory({
      service: plugins.coreServices.rootConfig,
      deps: {},
      factory: () => reader,
    }),
  );
  if (options.withGuest) {
    backend.add(import('@backstage/plugin-auth-backend'));
    backend.add(import('@backstage/plugin-auth-backend-module-guest-provider'));
  }
  for (const feature of options.features) {
    backend.add(feature);
  }
  await backend.start();
  return url;
}

function configOf(
  { connection, poolSize, withGuest, config }: BackendOptions,
  url: string,
  port: number,
): Config {
  const { database } = connection;
  const service = { token: SERVICE_TOKEN, subject: SERVICE_SUBJECT };
  const guest = {
    userEntityRef: USER,
    dangerouslyAllowOutsideDevelopment: true,
  };
  return {
    backend: {
      baseUrl: url,
      listen: { host: HOST, port },
      auth: { externalAccess: [{ type: 'static', options: service }] },
      database: {
        client: 'pg',
        connection: { ...connection },
        prefix: `${database}_`,
        ...(poolSize && { knexConfig: { pool: { min: 0, max: poolSize } } }),
        plugin: { catalog: { connection: { database } } },
      },
    },
    ...(withGuest && { auth: { providers: { guest } } }),
    ...config,
    app: { baseUrl: url },
  };
}

/** A token of the guest from a new sign-in. */
export async function tokenOfGuest(url: string): Promise<string> {
  const path = '/api/auth/guest/refresh';
  const answer = await ask(url, { method: 'GET', path });
  return JSON.parse(answer).backstageIdentity.token;
}
