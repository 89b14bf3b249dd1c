import { createTestDatabases, waitUntil } from '@internal/postgres/testUtils';
import type { TenancyDatabase } from '../__testUtils__/tenancyDatabase';
import { WireProxy } from '../database/__testUtils__/WireProxy';
import { DirectoryUnderTest } from './__testUtils__/DirectoryUnderTest';
import { Registry } from './__testUtils__/registry';

const databases = createTestDatabases({ versions: 'newest' });

describe.each(databases.eachSupportedId())(
  'a directory that does not hear, on %s',
  id => {
    let registry: Registry;
    let database: TenancyDatabase;
    let tested: DirectoryUnderTest;

    beforeAll(async () => {
      registry = await Registry.create(databases, id);
      database = registry.database;
    });
    afterAll(() => database.close());
    beforeEach(async () => {
      await registry.empty();
      await registry.createTenant('acme');
    });
    afterEach(() => tested.directory.close());

    const cutListeners = () =>
      database.client.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
        where application_name = 'tenants: changes' and datname = current_database()`,
      );

    /** Whoever changes it so notifies nobody. */
    const deleteSilently = () =>
      database.client.query(
        `update tenants set deleted_at = now() where tenant_slug = 'acme'`,
      );

    it('forgets everything when its connection is cut, and asks each time until it hears again', async () => {
      tested = new DirectoryUnderTest(database.createPool());
      await tested.begin();
      await tested.directory.findActive('acme');
      await expect(tested.remembers('acme')).resolves.toBe(true);

      const [deaf, hears] = [tested.deaf(), tested.hears()];
      await cutListeners();
      await deaf;
      await registry.store.delete('acme');
      await expect(
        tested.directory.findActive('acme'),
      ).resolves.toBeUndefined();

      await hears;
      await registry.store.restore('acme');
      await waitUntil('the directory to remember the tenant', () =>
        tested.remembers('acme'),
      );
      await registry.store.delete('acme');
      await waitUntil(
        'the directory to forget the tenant',
        async () => !(await tested.directory.findActive('acme')),
      );
    });

    it('notices that its connection is dead where nobody says so', async () => {
      const proxy = await WireProxy.start(database.appConnection);
      try {
        tested = new DirectoryUnderTest(database.pool, {
          connection: proxy.connection,
          timing: { heartbeatMs: 20, answerMs: 500 },
        });
        await tested.begin();
        await tested.directory.findActive('acme');
        const deaf = tested.deaf();
        proxy.freeze();
        await deaf;
        await deleteSilently();
        await expect(
          tested.directory.findActive('acme'),
        ).resolves.toBeUndefined();

        const hears = tested.hears();
        proxy.thaw();
        await hears;
        await waitUntil('the directory to remember the tenant', () =>
          tested.remembers('default'),
        );
      } finally {
        await tested.directory.close();
        await proxy.close();
      }
    });

    it('remembers nothing where it hears itself but not the others, as behind a pooler of transactions', async () => {
      // A channel belongs to a database: what goes through the pool never gets there.
      tested = new DirectoryUnderTest(database.pool, {
        connection: { ...database.appConnection, database: 'postgres' },
        timing: { answerMs: 100 },
      });
      const deaf = tested.deaf();
      await tested.directory.findActive('acme');
      await deaf;
      await tested.directory.findActive('acme');
      await expect(tested.remembers('acme')).resolves.toBe(false);
      await deleteSilently();
      await expect(
        tested.directory.findActive('acme'),
      ).resolves.toBeUndefined();
    });
  },
);
