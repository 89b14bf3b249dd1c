// Ours as it runs in production: a Backstage backend with all that Backstage
// puts around a plugin, from helmet, CORS and compression to the log of every
// request and the verification of the caller's signed token.

import { configuredBackend } from '../../harness/backend';
import { findFreePort, HOST } from '../../harness/port';
import { serve } from '../../harness/serve';
import { POOL_SIZE, USER } from '../constants';
import type { ServerSettings } from './settings';

serve<ServerSettings>(async ({ connection }) => {
  const port = await findFreePort();
  const url = `http://${HOST}:${port}`;
  const backend = configuredBackend({
    app: { baseUrl: url },
    backend: {
      baseUrl: url,
      listen: { host: HOST, port },
      database: {
        client: 'pg',
        connection,
        knexConfig: { pool: { min: 0, max: POOL_SIZE } },
        plugin: { mockup: { connection: { database: connection.database } } },
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
    // What a policy costs is up to the policy.
    permission: { enabled: false },
  });

  backend.add(import('@backstage/plugin-auth-backend'));
  backend.add(import('@backstage/plugin-auth-backend-module-guest-provider'));
  backend.add(import('backstage-plugin-mockup-backend'));
  await backend.start();
  return url;
});
