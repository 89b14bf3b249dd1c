// A Backstage backend with a catalog, as it runs in production: tokens are verified, and
// a policy is asked what users may read.

import { startBackend } from '../../harness/backend';
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

serve<ServerSettings>(({ connection, withTenants }) =>
  startBackend({
    plugin: 'catalog',
    connection,
    poolSize: POOL_SIZE,
    service: { token: SERVICE_TOKEN, subject: 'benchmark' },
    guest: USER,
    config: {
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
    },
    features: [
      import('@backstage/plugin-catalog-backend'),
      import('@backstage/plugin-permission-backend'),
      import('@backstage/plugin-permission-backend-module-allow-all-policy'),
      withTenants
        ? import('backstage-plugin-catalog-backend-module-tenancy')
        : nothing,
    ],
  }),
);
