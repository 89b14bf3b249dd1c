import { databaseServiceFactory } from '@backstage/backend-defaults/database';
import { mockServices, startTestBackend } from '@backstage/backend-test-utils';
import { takeServices } from '@internal/catalog-testing/takeServices';
import { createTestDatabases, eventually } from '@internal/postgres/testUtils';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import {
  createTenancyDatabase,
  type TenancyDatabase,
} from './__testUtils__/tenancyDatabase';
import {
  requestsUnderWayServiceRef,
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

  async function start() {
    const { host, port, user, password } = database.connection;
    const { user: appUser, password: appPassword } = database.appConnection;
    const { feature, services } = takeServices({
      directory: tenantDirectoryServiceRef,
      requests: requestsUnderWayServiceRef,
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
    return { backend, services };
  }

  // A rollback refuses while portal_app is connected, and asks for a restart without
  // the flag: sessions that stay open would keep it out for ever.
  it('leave no session of portal_app open when the flag is off', async () => {
    const { backend, services } = await start();
    const expectToFind = () =>
      expect(services.directory.findActive('default')).resolves.toMatchObject({
        tenantSlug: 'default',
      });
    await expectToFind();
    await services.tenants.list();
    await eventually(async () => {
      const { rows } = await database.client.query(
        `select application_name from pg_stat_activity
          where datname = current_database() and usename = 'portal_app'`,
      );
      expect(rows).toEqual([]);
    });
    await expectToFind();
    await backend.stop();
  });

  it('work until the requests under way are answered, also while the backend stops', async () => {
    const { backend, services } = await start();
    const response = new ServerResponse(new IncomingMessage(new Socket()));
    services.requests.begin(response);
    const stopped = backend.stop();
    for (let reads = 0; reads < 50; reads += 1) {
      await services.tenants.list();
    }
    response.emit('close');
    await stopped;
    await expect(services.tenants.list()).rejects.toThrow(
      'The database was closed',
    );
  });
});
