// A Backstage backend with a catalog, as it runs in production: tokens are verified, and
// a policy is asked what users may read.

import { configuredBackend } from '../../harness/backend';
import { findFreePort, HOST } from '../../harness/port';
import { serve } from '../../harness/serve';
import {
  APP_LOGIN,
  PASSWORD,
  POOL_SIZE,
  SCHEMA,
  SERVICE_TOKEN,
  USER,
} from '../constants';
import { nothing } from './nothing';
import type { ServerSettings } from './settings';

serve<ServerSettings>(async ({ connection, withTenants }) => {
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
            options: { token: SERVICE_TOKEN, subject: 'benchmark' },
          },
        ],
      },
      database: {
        client: 'pg',
        connection,
        prefix: `${database}_`,
        knexConfig: { pool: { min: 0, max: POOL_SIZE } },
        plugin: { catalog: { connection: { database } } },
      },
    },
    auth: {
      providers: {
        guest: {
          userEntityRef: USER,
          dangerouslyAllowOutsideDevelopment: true,
        },
      },
    },
    permission: { enabled: true },
    catalog: {
      // The entities stand in the database, and nobody changes them.
      processingInterval: false,
      orphanStrategy: 'keep',
      orphanProviderStrategy: 'keep',
    },
    tenancy: {
      enabled: withTenants,
      schema: SCHEMA,
      database: {
        connection: { user: APP_LOGIN, password: PASSWORD },
        pool: { max: POOL_SIZE },
      },
    },
  });

  backend.add(import('@backstage/plugin-auth-backend'));
  backend.add(import('@backstage/plugin-auth-backend-module-guest-provider'));
  backend.add(import('@backstage/plugin-catalog-backend'));
  backend.add(import('@backstage/plugin-permission-backend'));
  backend.add(
    import('@backstage/plugin-permission-backend-module-allow-all-policy'),
  );
  if (withTenants) {
    backend.add(import('backstage-plugin-catalog-backend-module-tenancy'));
  }
  if (!withTenants) {
    backend.add(nothing);
  }
  await backend.start();
  return url;
});
