// A Backstage backend with the catalog of tenants and their registry, as it runs in
// production: tokens are verified, and a policy is asked what users may read.

import { configuredBackend } from '../../harness/backend';
import { findFreePort, HOST } from '../../harness/port';
import { serve } from '../../harness/serve';
import {
  APP_LOGIN,
  BASE_DOMAIN,
  PASSWORD,
  SCHEMA,
  SERVICE_TOKEN,
  USER,
} from '../constants';
import { benchmarkPlugin } from './benchmarkPlugin';
import type { ServerSettings } from './settings';

serve<ServerSettings>(async ({ connection }) => {
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
    // Nobody asks the engine for anything here.
    catalog: { processingInterval: false },
    // Of all else, what it is by default.
    tenancy: {
      enabled: true,
      schema: SCHEMA,
      admins: [USER],
      baseDomains: [BASE_DOMAIN],
      database: { connection: { user: APP_LOGIN, password: PASSWORD } },
    },
  });

  backend.add(import('@backstage/plugin-auth-backend'));
  backend.add(import('@backstage/plugin-auth-backend-module-guest-provider'));
  backend.add(import('@backstage/plugin-catalog-backend'));
  backend.add(import('@backstage/plugin-permission-backend'));
  backend.add(
    import('@backstage/plugin-permission-backend-module-allow-all-policy'),
  );
  backend.add(import('backstage-plugin-catalog-backend-module-tenancy'));
  backend.add(import('backstage-plugin-tenants-backend'));
  backend.add(benchmarkPlugin);
  await backend.start();
  return url;
});
