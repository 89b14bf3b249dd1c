import {
  APP_LOGIN,
  type DatabaseConnection,
  PASSWORD,
  SCHEMA,
  serve,
  startBackend,
  USER,
} from '../src/harness/servers';

// The portal with a catalog that is there already, for `recordPages.ts`.

serve<{ connection: DatabaseConnection }>(({ connection }) =>
  startBackend({
    plugin: 'catalog',
    connection,
    guest: USER,
    config: {
      app: { title: 'Recorded', packages: 'all' },
      organization: { name: 'Recorded' },
      permission: { enabled: true },
      catalog: {
        processingInterval: false,
        orphanStrategy: 'keep',
        orphanProviderStrategy: 'keep',
      },
      tenancy: {
        enabled: true,
        schema: SCHEMA,
        database: { connection: { user: APP_LOGIN, password: PASSWORD } },
      },
    },
    features: [
      import('@backstage/plugin-app-backend'),
      import('@backstage/plugin-catalog-backend'),
      import('@backstage/plugin-permission-backend'),
      import('@backstage/plugin-permission-backend-module-allow-all-policy'),
      import('backstage-plugin-catalog-backend-module-tenancy'),
      import('backstage-plugin-tenants-backend'),
    ],
  }),
);
