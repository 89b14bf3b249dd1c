import { databaseServiceFactory } from '@backstage/backend-defaults/database';
import { mockServices, startTestBackend } from '@backstage/backend-test-utils';
import { takeServices } from '@internal/catalog-testing/takeServices';
import { createTestDatabases, eventually } from '@internal/postgres/testUtils';
import {
  createTenancyDatabase,
  type TenancyDatabase,
} from './__testUtils__/tenancyDatabase';
import {
  tenancyServiceFactory,
  tenantDirectoryServiceRef,
  tenantStoreServiceRef,
} from './services';

const databases = createTestDatabases({ versions: 'newest' });

describe.each(databases.eachSupportedId())('the services on %s', id => {
  let database: TenancyDatabase;

  beforeAll(async () => {
    database = await createTenancyDatabase(databases, id);
  });

  afterAll(() => database.close());

  // A rollback refuses while portal_app is connected, and asks for a restart without
  // the flag: sessions that stay open would keep it out for ever.
  it('leave no session of portal_app open when the flag is off', async () => {
    const { host, port, user, password } = database.connection;
    const { user: appUser, password: appPassword } = database.appConnection;
    const { feature, services } = takeServices({
      directory: tenantDirectoryServiceRef,
      tenants: tenantStoreServiceRef,
    });
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
                connection: { host, port, user, password } as {},
                plugin: {
                  catalog: {
                    connection: { database: database.connection.database },
                  },
                },
              },
            },
            tenancy: {
              enabled: false,
              database: {
                connection: { user: appUser, password: appPassword } as {},
                // Longer than any test.
                pool: { idleTimeoutMs: 3_600_000 },
              },
            },
          },
        }),
        feature,
      ],
    });
    const expectToFind = () =>
      expect(services.directory.findActive('default')).resolves.toMatchObject({
        tenantSlug: 'default',
      });
    await expectToFind();
    await services.tenants.list();
    await eventually(async () => {
      const { rows } = await database.client.query(
        `select application_name from pg_stat_activity
          where datname = current_database() and usename = $1`,
        [appUser],
      );
      expect(rows).toEqual([]);
    });
    await expectToFind();
    await backend.stop();
  });
});
