import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import type { ClientConfig } from 'pg';
import {
  createTestDatabases,
  eventually,
  waitUntil,
  withDeadline,
} from './testUtils';

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

describe('a wait', () => {
  const never = new Promise<never>(() => {});
  const soon = { withinMs: 20 };

  it('ends with what it waited for', async () => {
    let looks = 0;
    const look = () => (looks += 1) > 2 && 'seen';
    await expect(waitUntil('it', look)).resolves.toBe('seen');
    const attempt = async () => {
      looks += 1;
      expect(looks).toBeGreaterThan(5);
      return looks;
    };
    await expect(eventually(attempt)).resolves.toBe(6);
    await expect(withDeadline('it', Promise.resolve(7))).resolves.toBe(7);
  });

  it('fails once its deadline has passed, and says what it waited for', async () => {
    const inVain = /^Waited 20 ms in vain for it$/;
    await expect(withDeadline('it', never, soon)).rejects.toThrow(inVain);
    await expect(waitUntil('it', () => false, soon)).rejects.toThrow(inVain);
    // What it looks at may hang as well.
    await expect(waitUntil('it', () => never, soon)).rejects.toThrow(inVain);
    await expect(eventually(() => expect(1).toBe(2), soon)).rejects.toThrow(
      'Expected: 2',
    );
  });
});

describe('the long test files', () => {
  const LongFilesFirst = jest.requireActual('../jest/longFiles') as {
    new (options: object): { sort(tests: object[]): object[] };
    LONG_FILES: string[];
    chosenLongFiles(choice?: string): string[];
  };
  const { LONG_FILES, chosenLongFiles } = LongFilesFirst;
  const root = join(__dirname, '../../..');
  const { LONG_TESTS } = process.env;

  afterEach(() => {
    process.env.LONG_TESTS = LONG_TESTS;
    if (LONG_TESTS === undefined) {
      delete process.env.LONG_TESTS;
    }
    jest.restoreAllMocks();
  });

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

  it.each([
    ['left out, which is said', '', false, 0],
    ['run an eighth at a time', 'a commit', false, LONG_FILES.length / 8],
    ['all run where they are asked for', 'all', false, LONG_FILES.length],
    ['all run where files are named', '', true, LONG_FILES.length],
  ])('are %s', (_, choice, isSet, count) => {
    process.env.LONG_TESTS = choice;
    const said = jest.spyOn(console, 'error').mockReturnValue(undefined);
    const files = [...LONG_FILES, 'other.test.ts'];
    const sequencer = new LongFilesFirst({
      contexts: [],
      globalConfig: { testPathPatterns: { isSet: () => isSet } },
    });
    const sorted = sequencer.sort(
      files.map(file => ({
        path: join(root, file),
        context: {
          config: { id: '', cacheDirectory: '', haste: {} },
          hasteFS: { getSize: () => 1 },
        },
      })),
    ) as { path: string }[];
    expect(sorted).toHaveLength(Math.ceil(count) + 1);
    expect(sorted.at(-1)!.path).toMatch(/other\.test\.ts$/);
    expect(said).toHaveBeenCalledTimes(sorted.length < files.length ? 1 : 0);
  });
});
