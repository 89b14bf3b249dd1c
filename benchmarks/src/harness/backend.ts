import { createBackend } from '@backstage/backend-defaults';
import {
  coreServices,
  createServiceFactory,
} from '@backstage/backend-plugin-api';
import { ConfigReader } from '@backstage/config';
import type { PostgresConnection } from '@internal/postgres';
import { findFreePort, HOST } from './port';

type Backend = ReturnType<typeof createBackend>;

/** What a file of configuration has. */
type Config = NonNullable<ConstructorParameters<typeof ConfigReader>[0]>;

/** A backend to be started, as it runs in production. */
export interface BackendOptions {
  /** The plugin whose tables are in the database. The others have some of their own. */
  plugin: string;
  connection: PostgresConnection & { database: string };
  /** How many connections each plugin may have; as many as by default otherwise. */
  poolSize?: number;
  /** Who may call it with a token that does not change. */
  service?: { token: string; subject: string };
  /** Which user a guest is, where guests may sign in. */
  guest?: string;
  /** What the plugins are to do, beyond all that. */
  config: Config;
  features: Array<Parameters<Backend['add']>[0]>;
}

/**
 * Starts a Backstage backend, and returns its URL. It is configured by this alone,
 * whatever files and variables there are.
 */
export async function startBackend(options: BackendOptions): Promise<string> {
  const port = await findFreePort();
  const url = `http://${HOST}:${port}`;
  const backend = createBackend();
  backend.add(
    createServiceFactory({
      service: coreServices.rootConfig,
      deps: {},
      factory: () =>
        new ConfigReader({
          app: { baseUrl: url },
          backend: {
            baseUrl: url,
            listen: { host: HOST, port },
            ...servicesOf(options),
          },
          ...(options.guest && { auth: guestAs(options.guest) }),
          ...options.config,
        }),
    }),
  );
  if (options.guest) {
    backend.add(import('@backstage/plugin-auth-backend'));
    backend.add(import('@backstage/plugin-auth-backend-module-guest-provider'));
  }
  for (const feature of options.features) {
    backend.add(feature);
  }
  await backend.start();
  return url;
}

function servicesOf({
  plugin,
  connection,
  poolSize,
  service,
}: BackendOptions): Config {
  const { database } = connection;
  return {
    ...(service && {
      auth: {
        externalAccess: [
          {
            type: 'static',
            options: { token: service.token, subject: service.subject },
          },
        ],
      },
    }),
    database: {
      client: 'pg',
      connection: { ...connection },
      prefix: `${database}_`,
      ...(poolSize && { knexConfig: { pool: { min: 0, max: poolSize } } }),
      plugin: { [plugin]: { connection: { database } } },
    },
  };
}

function guestAs(userEntityRef: string): Config {
  return {
    providers: {
      guest: { userEntityRef, dangerouslyAllowOutsideDevelopment: true },
    },
  };
}
