// A Backstage backend with a catalog of tenants, and with the registry of tenants.

import { configuredBackend } from '../../harness/backend';
import { findFreePort, HOST } from '../../harness/port';
import { serve } from '../../harness/serve';
import {
  APP_LOGIN,
  CONNECTION_TIMEOUT_MS,
  PASSWORD,
  POOL_SIZE,
  SCHEMA,
  SERVICE,
  SERVICE_TOKEN,
  STATEMENT_TIMEOUT_MS,
} from '../constants';
import { control } from './control';
import type { ServerSettings } from './settings';

serve<ServerSettings>(async ({ connection, tenants }) => {
  const port = await findFreePort();
  const url = `http://${HOST}:${port}`;
  const { database } = connection;
  const backend = configuredBackend({
    app: { baseUrl: url },
    backend: {
      baseUrl: url,
      listen: { host: HOST, port },
      auth: {
        externalAccess: [
          {
            type: 'static',
            options: { token: SERVICE_TOKEN, subject: SERVICE },
          },
        ],
      },
      database: {
        client: 'pg',
        connection,
        prefix: `${database}_`,
        plugin: { catalog: { connection: { database } } },
      },
    },
    permission: { enabled: false },
    catalog: {
      // Nothing is ingested.
      processingInterval: false,
      orphanStrategy: 'keep',
      orphanProviderStrategy: 'keep',
    },
    tenancy: {
      enabled: true,
      schema: SCHEMA,
      admins: [SERVICE],
      database: {
        connection: { ...tenants, user: APP_LOGIN, password: PASSWORD },
        pool: {
          max: POOL_SIZE,
          connectionTimeoutMs: CONNECTION_TIMEOUT_MS,
          statementTimeoutMs: STATEMENT_TIMEOUT_MS,
        },
      },
    },
  });

  backend.add(import('@backstage/plugin-catalog-backend'));
  backend.add(import('backstage-plugin-catalog-backend-module-tenancy'));
  backend.add(import('backstage-plugin-tenants-backend'));
  backend.add(control);
  await backend.start();
  return url;
});
