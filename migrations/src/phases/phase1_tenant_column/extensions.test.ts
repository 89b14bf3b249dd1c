import { changeRole, createTestDatabases } from '@internal/postgres/testUtils';
import { forEachTest } from '../../__testUtils__/forEachTest';
import { createCatalogDatabase } from '../../__testUtils__/catalogDatabase';
import { connectionOf } from '../../__testUtils__/roles';
import { extensions } from './05_extensions';

const databases = createTestDatabases();

describe.each(databases.eachSupportedId())('the extensions on %s', id => {
  const database = forEachTest(() =>
    createCatalogDatabase(databases, id, { entities: 2 }),
  );

  const installed = async () => {
    const { rows } = await database.client.query(
      `select extname || ' in ' || extnamespace::regnamespace as found
         from pg_extension where extname <> 'plpgsql' order by 1`,
    );
    return rows.map(({ found }) => found);
  };
  const up = () => database.migrate(migration => migration.runPhase(1));
  const down = () =>
    database.migrate(migration => migration.undoFrom(extensions));

  it('are created where they are missing, and dropped by the undo', async () => {
    await up();
    await expect(installed()).resolves.toEqual([
      'pg_trgm in public',
      'uuid-ossp in public',
    ]);
    // As another plugin would that shares the database.
    await database.client.query(
      `create extension if not exists pg_trgm; set search_path = public;
       select similarity('a', 'b'); set search_path = tenancy`,
    );
    await down();
    await expect(installed()).resolves.toEqual([]);
  });

  it.each([
    ['may not create in public', 'revoke create on schema public from public'],
    ['has no public', 'drop schema public cascade'],
  ])('are created beside the tables where the login %s', async (_, how) => {
    const login = `extensions_${process.pid}`;
    const { client, connection } = database;
    await up();
    await changeRole(client, `create role ${login} login`);
    await client.query(
      `drop extension pg_trgm; drop extension "uuid-ossp"; ${how};
       grant create on database ${connection.database} to ${login};
       grant all on schema tenancy to ${login};
       grant all on all tables in schema tenancy to ${login}`,
    );
    const own = await connectionOf(database, login);
    await database.migrate(({ context }) => extensions.up(context), {
      connection: own,
    });
    await expect(installed()).resolves.toEqual([
      'pg_trgm in tenancy',
      'uuid-ossp in tenancy',
    ]);
    await changeRole(client, `reassign owned by ${login} to postgres`);
    await changeRole(client, `drop owned by ${login}`);
    await changeRole(client, `drop role ${login}`);
  });

  it('stay as they were where they were there before', async () => {
    await database.client.query('create extension pg_trgm with schema public');
    await up();
    await expect(installed()).resolves.toEqual([
      'pg_trgm in public',
      'uuid-ossp in public',
    ]);
    await down();
    await expect(installed()).resolves.toEqual(['pg_trgm in public']);
  });

  it('stay where others have come to use them', async () => {
    await up();
    await database.client.query(
      'create index names on entities using gin (entity_name public.gin_trgm_ops)',
    );
    await down();
    await expect(installed()).resolves.toEqual(['pg_trgm in public']);
  });
});
