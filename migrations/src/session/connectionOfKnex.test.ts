import { createTestDatabases } from '@internal/postgres/testUtils';
import createKnex from 'knex';
import type { Knex } from 'knex';
import { createCatalogDatabase } from '../__testUtils__/catalogDatabase';
import { migrateTo } from '../migrateTo';
import { connectionOfKnex } from './connectionOfKnex';

const databases = createTestDatabases({ versions: 'newest' });

describe.each(databases.eachSupportedId())('a Knex instance for %s', id => {
  it('gives its connection, with the password that it hides', async () => {
    const knex = await databases.init(id);
    const passwords: string[] = [];
    const connection = await connectionOfKnex(knex, password =>
      passwords.push(password),
    );
    expect(passwords).toEqual([connection.password]);
    expect(Object.keys(connection)).toContain('password');
  });

  it('whose password is a function is asked for one for each connection', async () => {
    let asked = 0;
    const knex = createKnex({
      client: 'pg',
      connection: {
        host: 'nowhere.invalid',
        password: async () => {
          asked += 1;
          return `password ${asked}`;
        },
      },
    });
    const passwords: string[] = [];
    const { password } = await connectionOfKnex(knex, each =>
      passwords.push(each),
    );
    const ask = password as () => Promise<string>;
    expect([await ask(), await ask()]).toEqual(['password 1', 'password 2']);
    expect(passwords).toEqual(['password 1', 'password 2']);
    await knex.destroy();
  });

  it('whose connection expires is asked for one for each connection', async () => {
    const database = await createCatalogDatabase(databases, id);
    const { connection } = database;
    let asked = 0;
    const knex = createKnex({
      client: 'pg',
      connection: async () => {
        asked += 1;
        return connection as Knex.PgConnectionConfig;
      },
    });
    const passwords = new Set<string>();
    const expiring = await connectionOfKnex(knex, password =>
      passwords.add(password),
    );
    expect(asked).toBe(1);
    await expect(migrateTo(1, { connection: expiring })).resolves.toMatchObject(
      { phase: 1 },
    );
    // Once more to look, and once to work.
    expect(asked).toBe(3);
    expect([...passwords]).toEqual([connection.password]);
    await knex.destroy();
    await database.close();
  });
});
