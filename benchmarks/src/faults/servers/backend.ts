// A Backstage backend with a catalog of tenants, and with the registry of tenants.

import { startBackend } from '../../harness/backend';
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

serve<ServerSettings>(({ connection, tenants }) =>
  startBackend({
    plugin: 'catalog',
    connection,
    service: { token: SERVICE_TOKEN, subject: SERVICE },
    config: {
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
    },
    features: [
      import('@backstage/plugin-catalog-backend'),
      import('backstage-plugin-catalog-backend-module-tenancy'),
      import('backstage-plugin-tenants-backend'),
      control,
    ],
  }),
);
