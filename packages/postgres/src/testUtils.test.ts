import { createTestDatabases } from './testUtils';

jest.setTimeout(60_000);

const databases = createTestDatabases();

it.each(databases.eachSupportedId())('offers %s', async id => {
  const knex = await databases.init(id);
  const { rows } = await knex.raw('show server_version');
  expect(rows[0].server_version).toContain(`${id.replace('POSTGRES_', '')}.`);
});
