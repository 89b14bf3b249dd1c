import { ConfigReader } from '@backstage/config';
import { Postgres } from '@internal/postgres';
import { testSettings } from '../__testUtils__/catalogDatabase';
import { TenancyMigration } from '../engine/TenancyMigration';
import { phases } from '../phases';
import { withPlaces } from './places';

it('a database that is reached by two addresses is one', async () => {
  const server = await Postgres.start({
    settings: { listen_addresses: '127.0.0.1,127.0.0.2' },
  });
  const migration = await TenancyMigration.open({
    phases,
    connection: { connectionString: server.connectionString() },
    command: 'test',
    mode: 'read',
    settings: testSettings,
  });
  try {
    const config = new ConfigReader({
      backend: {
        database: {
          client: 'pg',
          pluginDivisionMode: 'schema',
          connection: { ...server.connection, database: 'postgres' },
          plugin: { mockup: { connection: { host: '127.0.0.2' } } },
        },
      },
    });
    await withPlaces(migration.context, { config }, async places =>
      expect(places).toMatchObject([
        { database: 'postgres', plugins: ['mockup'] },
      ]),
    );
  } finally {
    await migration.close();
    await server.stop();
  }
});
