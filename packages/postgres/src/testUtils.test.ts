import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import type { ClientConfig } from 'pg';
import { createTestDatabases } from './testUtils';

const databases = createTestDatabases({ versions: 'every' });

it.each(databases.eachSupportedId())('offers %s', async id => {
  const knex = await databases.init(id);
  const { rows } = await knex.raw('show server_version');
  expect(rows[0].server_version).toContain(`${id.replace('POSTGRES_', '')}.`);
});

describe.each(databases.eachSupportedId())('a template on %s', id => {
  const query = async (connection: ClientConfig, sql: string) => {
    const client = new Client(connection);
    await client.connect();
    try {
      return (await client.query(sql)).rows;
    } finally {
      await client.end();
    }
  };

  it('is prepared once, and each database is a copy of its own', async () => {
    let prepared = 0;
    const template = {
      name: `numbers ${randomUUID()}`,
      prepare: async (connection: ClientConfig) => {
        prepared += 1;
        await query(connection, 'create table numbers as select 1 as n');
      },
    };
    const [one, other] = await Promise.all([
      databases.create(id, template),
      databases.create(id, template),
    ]);
    expect(prepared).toBe(1);
    await query(one, 'update numbers set n = 2');
    expect(await query(other, 'select n from numbers')).toEqual([{ n: 1 }]);
  });

  it('is prepared again after it could not be prepared', async () => {
    let attempts = 0;
    const template = {
      name: `fails first ${randomUUID()}`,
      prepare: async (connection: ClientConfig) => {
        attempts += 1;
        await query(connection, 'create table attempts ()');
        if (attempts === 1) {
          throw new Error('failed');
        }
      },
    };
    await expect(databases.create(id, template)).rejects.toThrow('failed');
    const connection = await databases.create(id, template);
    expect(await query(connection, 'select from attempts')).toEqual([]);
  });
});

describe('the long test files', () => {
  const { LONG_FILES, chosenLongFiles } = jest.requireActual(
    '../jest/longFiles',
  ) as { LONG_FILES: string[]; chosenLongFiles(choice?: string): string[] };
  const root = join(__dirname, '../../..');
  it('are there', () => {
    expect(LONG_FILES.filter(file => !existsSync(join(root, file)))).toEqual(
      [],
    );
  });

  it('are chosen by a text, an eighth at a time, and each by some', () => {
    expect(chosenLongFiles('')).toEqual([]);
    expect(chosenLongFiles('all')).toEqual(LONG_FILES);
    const eighth = Math.ceil(LONG_FILES.length / 8);
    const chosen = Array.from({ length: 100 }, (_, n) =>
      chosenLongFiles(`commit ${n}`),
    );
    expect(new Set(chosen.map(({ length }) => length))).toEqual(
      new Set([eighth]),
    );
    expect(new Set(chosen.flat()).size).toBe(LONG_FILES.length);
    expect(chosenLongFiles('commit 1')).toEqual(chosen[1]);
  });
});
