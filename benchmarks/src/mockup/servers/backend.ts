// Ours as it runs in production: a Backstage backend with all that Backstage
// puts around a plugin, from helmet, CORS and compression to the log of every
// request and the verification of the caller's signed token.

import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { createBackend } from '@backstage/backend-defaults';
import {
  coreServices,
  createServiceFactory,
} from '@backstage/backend-plugin-api';
import { ConfigReader } from '@backstage/config';
import { serve } from '../../harness/serve';
import { POOL_SIZE, USER } from '../constants';
import type { ServerSettings } from './settings';

const HOST = '127.0.0.1';

serve<ServerSettings>(async ({ connection }) => {
  const port = await findFreePort();
  const url = `http://${HOST}:${port}`;
  const config = new ConfigReader({
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

  const backend = createBackend();
  backend.add(
    createServiceFactory({
      service: coreServices.rootConfig,
      deps: {},
      factory: () => config,
    }),
  );
  backend.add(import('@backstage/plugin-auth-backend'));
  backend.add(import('@backstage/plugin-auth-backend-module-guest-provider'));
  backend.add(import('backstage-plugin-mockup-backend'));
  await backend.start();
  return url;
});

// Backstage verifies tokens by way of its own URL, and so must know its port
// before it listens.
async function findFreePort(): Promise<number> {
  const probe = createServer().listen(0, HOST);
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}
