// A Backstage backend with the catalog of tenants and their registry, as it runs in
// production: tokens are verified, and a policy is asked what users may read.

import { startBackend } from '../../harness/backend';
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

serve<ServerSettings>(({ connection }) =>
  startBackend({
    plugin: 'catalog',
    connection,
    service: { token: SERVICE_TOKEN, subject: 'benchmark' },
    guest: USER,
    config: {
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
    },
    features: [
      import('@backstage/plugin-catalog-backend'),
      import('@backstage/plugin-permission-backend'),
      import('@backstage/plugin-permission-backend-module-allow-all-policy'),
      import('backstage-plugin-catalog-backend-module-tenancy'),
      import('backstage-plugin-tenants-backend'),
      benchmarkPlugin,
    ],
  }),
);
