import { databaseServiceFactory } from '@backstage/backend-defaults/database';
import {
  coreServices,
  createBackendPlugin,
  createServiceFactory,
} from '@backstage/backend-plugin-api';
import { mockServices, startTestBackend } from '@backstage/backend-test-utils';
import { createTestDatabases, eventually } from '@internal/postgres/testUtils';
import {
  createTenancyDatabase,
  type TenancyDatabase,
} from './__testUtils__/tenancyDatabase';
import type { CatalogStore } from './catalog/CatalogStore';
import type { AdminDatabase } from './database/AdminDatabase';
import type { TenantDatabase } from './database/TenantDatabase';
import { TenancyStartupError } from './startup/TenancyStartupError';
import type { TenantDirectory } from './tenants/TenantDirectory';
import type { TenantStore } from './tenants/TenantStore';
import {
  adminDatabaseServiceRef,
  catalogStoreServiceRef,
  tenancyServiceFactory,
  tenantDatabaseServiceRef,
  tenantDirectoryServiceRef,
  tenantStoreServiceRef,
} from './services';

const databases = createTestDatabases({ versions: 'newest' });

interface Services {
  admin: AdminDatabase;
  directory: TenantDirectory;
  store: CatalogStore;
  tenantDatabase: TenantDatabase;
  tenants: TenantStore;
}

describe.each(databases.eachSupportedId())('the services on %s', id => {
  let database: TenancyDatabase;

  beforeAll(async () => {
    database = await createTenancyDatabase(databases, id);
  });

  afterAll(() => database.close());

  /** A backend with a plugin that depends on all of them. */
  async function start({
    user = 'portal_app',
    enabled = true,
  }: { user?: 'portal_app' | 'superuser'; enabled?: boolean } = {}) {
    const { host, port, user: owner, password } = database.connection;
    const { user: appUser, password: appPassword } = database.appConnection;
    const auditor = mockServices.auditor.mock();
    let services: Services | undefined;
    const backend = await startTestBackend({
      features: [
        databaseServiceFactory,
        tenancyServiceFactory,
        mockServices.rootConfig.factory({
          data: {
            backend: {
              baseUrl: 'http://localhost:0',
              database: {
                client: 'pg',
                connection: { host, port, user: owner, password } as {},
                plugin: {
                  catalog: {
                    connection: { database: database.connection.database },
                  },
                },
              },
            },
            tenancy: {
              enabled,
              database: {
                connection:
                  user === 'portal_app'
                    ? ({ user: appUser, password: appPassword } as {})
                    : {},
                // Longer than any test.
                pool: { idleTimeoutMs: 3_600_000 },
              },
            },
          },
        }),
        createServiceFactory({
          service: coreServices.auditor,
          deps: {},
          factory: () => auditor,
        }),
        createBackendPlugin({
          pluginId: 'example',
          register(env) {
            env.registerInit({
              deps: {
                admin: adminDatabaseServiceRef,
                directory: tenantDirectoryServiceRef,
                store: catalogStoreServiceRef,
                tenantDatabase: tenantDatabaseServiceRef,
                tenants: tenantStoreServiceRef,
              },
              async init(deps) {
                services = deps;
              },
            });
          },
        }),
      ],
    });
    return { auditor, backend, services: services! };
  }

  // A rollback refuses while portal_app is connected, and asks for a restart without
  // the flag: sessions that stay open would keep it out for ever.
  it('leave no session of portal_app open when the flag is off', async () => {
    const { backend, services } = await start({ enabled: false });
    await expect(services.directory.findActive('default')).resolves.toEqual(
      expect.objectContaining({ tenantSlug: 'default' }),
    );
    await services.tenants.list();
    await eventually(async () => {
      const { rows } = await database.client.query(
        `select application_name from pg_stat_activity
          where datname = current_database() and usename = $1`,
        [database.appConnection.user],
      );
      expect(rows).toEqual([]);
    });
    await expect(services.directory.findActive('default')).resolves.toEqual(
      expect.objectContaining({ tenantSlug: 'default' }),
    );
    await backend.stop();
  });

  it('are not there for a database user whom row-level security does not bind', async () => {
    await expect(start({ user: 'superuser' })).rejects.toThrow(
      TenancyStartupError,
    );
  });
});
