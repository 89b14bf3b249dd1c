import { targetPaths } from '@backstage/cli-common';
import { APPLICATION } from '@internal/catalog-testing/tenancyDatabase';
import type { ClientConfig } from 'pg';
import type { Deployment } from '../deployment';

/**
 * The backend with the configuration of production, from its sources.
 *
 * @param options - `configs` are files of configuration, from the root of the repository;
 * `settings` are keys with `_` in place of dots, and their values
 */
export function productionPortal(options: {
  connection: ClientConfig;
  configs: string[];
  env: Record<string, string>;
  settings: Record<string, unknown>;
}): Deployment {
  const { connection, configs, env, settings } = options;
  const all = {
    // The server of tests speaks no TLS, and other test files are at it.
    backend_database_connection_ssl: false,
    backend_database_prefix: `portal_${process.pid}_`,
    backend_database_plugin_catalog_connection_database: connection.database,
    backend_trustProxy: 'loopback',
    ...settings,
  };
  return {
    folder: targetPaths.resolveRoot('packages/backend'),
    args: [
      '--require',
      require.resolve('@backstage/cli/config/nodeTransform.cjs'),
      require.resolve('../../src/index.ts'),
      ...configs.flatMap(config => [
        '--config',
        targetPaths.resolveRoot(config),
      ]),
    ],
    env: {
      APP_TITLE: 'Portal',
      ORGANIZATION_NAME: 'Example',
      MULTI_TENANCY_ENABLED: 'true',
      TENANCY_ADMIN: 'operator',
      TENANCY_POSTGRES_USER: APPLICATION.user,
      TENANCY_POSTGRES_PASSWORD: APPLICATION.password,
      POSTGRES_HOST: String(connection.host),
      POSTGRES_PORT: String(connection.port),
      POSTGRES_USER: String(connection.user),
      POSTGRES_PASSWORD: String(connection.password),
      ...Object.fromEntries(
        Object.entries(all).map(([key, value]) => [
          `APP_CONFIG_${key}`,
          JSON.stringify(value),
        ]),
      ),
      ...env,
    },
  };
}

/** Lets a token of a test in, as the service `operator`. */
export function operatorAccess(token: string) {
  return {
    backend_auth_externalAccess: [
      { type: 'static', options: { token, subject: 'operator' } },
    ],
  };
}
