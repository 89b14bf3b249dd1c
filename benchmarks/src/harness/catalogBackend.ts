import {
  APP_LOGIN,
  type DatabaseConnection,
  PASSWORD,
  POOL_SIZE,
  SCHEMA,
  startBackend,
} from './backend';
import { serve } from './servers';

/** What this server gets from the benchmark. */
export interface CatalogBackendSettings {
  connection: DatabaseConnection;
  /** Without it, the stock catalog answers. */
  tenancy?: TenancySettings;
}

/** Settings of our module, each by default as a portal has it. */
export interface TenancySettings {
  /** How long a decision about a user may be used again, in milliseconds. */
  maxDecisionAgeMs?: number;
  /** How many operations of one tenant may be under way, whatever others do. */
  concurrency?: number;
}

// A Backstage backend with a catalog, as it runs in production: tokens are verified, and a
// policy decides what users may read. The entities stand in the database, and do not change.
serve<CatalogBackendSettings>(({ connection, tenancy }) =>
  startBackend({
    connection,
    poolSize: POOL_SIZE,
    withGuest: true,
    config: {
      permission: { enabled: true },
      catalog: {
        processingInterval: false,
        orphanStrategy: 'keep',
        orphanProviderStrategy: 'keep',
      },
      tenancy: tenancy ? tenancyConfig(tenancy) : { enabled: false },
    },
    features: [
      import('@backstage/plugin-catalog-backend'),
      import('@backstage/plugin-permission-backend'),
      import('@backstage/plugin-permission-backend-module-allow-all-policy'),
      ...(tenancy
        ? [import('backstage-plugin-catalog-backend-module-tenancy')]
        : []),
    ],
  }),
);

function tenancyConfig({ maxDecisionAgeMs, concurrency }: TenancySettings) {
  return {
    enabled: true,
    schema: SCHEMA,
    permissions: { maxDecisionAgeMs },
    database: {
      connection: { user: APP_LOGIN, password: PASSWORD },
      pool: { max: POOL_SIZE },
    },
    ...(concurrency && {
      limits: { concurrency, concurrencyBesideOthers: concurrency },
    }),
  };
}
