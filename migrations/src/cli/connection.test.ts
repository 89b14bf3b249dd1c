import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestDatabases, withClient } from '@internal/postgres/testUtils';
import { Client } from 'pg';
import type { ClientConfig } from 'pg';
import { createCatalogDatabase } from '../__testUtils__/catalogDatabase';
import type { CatalogDatabase } from '../__testUtils__/catalogDatabase';
import { runCli } from './__testUtils__/runCli';
import {
  connectionFromConfig,
  resolveConnection,
  resolveDestination,
} from './connection';

const databases = createTestDatabases({ versions: 'newest' });

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'migrate-config-'));
});
afterAll(() => rm(folder, { recursive: true }));

const NO_USER = { USER: '', USERNAME: '', PGUSER: '' };

let files = 0;

/** A configuration file, which is YAML as all JSON is. */
async function configFile(database: object, more = {}): Promise<string> {
  files += 1;
  const file = join(folder, `${files}.yaml`);
  await writeFile(file, JSON.stringify({ backend: { database }, ...more }));
  return file;
}

async function ask<Row>(config: ClientConfig, sql: string): Promise<Row> {
  return withClient(config, async client => (await client.query(sql)).rows[0]);
}

describe.each(databases.eachSupportedId())('a configuration for %s', id => {
  let catalog: CatalogDatabase;
  let connection: ClientConfig;
  beforeAll(async () => {
    catalog = await createCatalogDatabase(databases, id, { seed: false });
    connection = catalog.connection;
    await catalog.client.query('create database "portal_catalog"');
  });
  afterAll(async () => {
    await catalog.client.query('drop database "portal_catalog"');
    await catalog.close();
  });

  const server = () => {
    const { host, port, user, password } = connection;
    return { host, port, user, password };
  };

  it('may name a role that connections act as, and its password is kept out of output', async () => {
    await catalog.client.query(
      `do $$ begin create role "migration tests" nologin; exception
         when duplicate_object or unique_violation then null; end $$`,
    );
    const { config, secrets } = await connectionFromConfig([
      await configFile({
        client: 'pg',
        role: 'migration tests',
        pluginDivisionMode: 'schema',
        connection: { ...connection },
      }),
    ]);
    await expect(ask(config, 'select current_user as name')).resolves.toEqual({
      name: 'migration tests',
    });
    expect([...secrets]).toEqual([connection.password]);
  });

  it('is read by the command, which ends, and creates no database', async () => {
    const file = await configFile({
      client: 'pg',
      prefix: 'missing_',
      connection: server(),
    });
    const { exitCode, stderr } = await runCli(['status', '--config', file]);
    expect(exitCode).toBe(1);
    expect(stderr).toContain('database "missing_catalog" does not exist');
    const { rows } = await catalog.client.query(
      `select from pg_database where datname = 'missing_catalog'`,
    );
    expect(rows).toEqual([]);
    const existing = await runCli([
      ...['status', '--json', '--config', file, '--config'],
      await configFile({ prefix: 'portal_' }, { tenancy: { schema: 'ours' } }),
    ]);
    expect(existing).toMatchObject({ exitCode: 0, stderr: '' });
    expect(JSON.parse(existing.stdout)).toMatchObject({ schema: 'ours' });
  });

  it('asks for encryption where the connection does', async () => {
    const file = await configFile({
      client: 'pg',
      prefix: 'portal_',
      connection: { ...server(), ssl: { rejectUnauthorized: true } },
    });
    const { stderr } = await runCli(['status', '--config', file]);
    expect(stderr).toContain('does not support SSL');
  });
});

it.each([
  [{ client: 'better-sqlite3', connection: ':memory:' }, 'is "better-sqlite3"'],
  [{ connection: {} }, 'has no backend.database.client'],
])('%j is refused: it is not PostgreSQL', async (database, expected) => {
  const file = await configFile(database);
  const loading = connectionFromConfig([file]);
  await expect(loading).rejects.toThrow(expected);
  await expect(loading).rejects.toThrow('Give the files with --config');
});

it('names the options of the destination where that is what is wrong', async () => {
  const file = await configFile({ connection: {} });
  for (const toConfig of [[file], ['none.yaml']]) {
    await expect(resolveDestination({ toConfig })).rejects.toThrow(
      'Give the files with --to-config, or a URL in the environment variable MIGRATION_TO_URL.',
    );
  }
});

describe('a URL', () => {
  it('may have an IPv6 address', async () => {
    const { config } = await resolveConnection({
      url: 'postgresql://ann:p%40ss@[2001:db8::1]:5433/catalog?options=-c%20role%3Downers',
    });
    expect(new Client(config)).toMatchObject({
      ...{ host: '2001:db8::1', port: 5433, user: 'ann', password: 'p@ss' },
      database: 'catalog',
      connectionParameters: { options: '-c role=owners' },
    });
  });

  it.each([
    ['/missing.crt', (path: string) => `ENOENT, '${path}'.`],
    ['', () => 'EISDIR.'],
  ])(
    'that names a file which cannot be read is told so: %s',
    async (name, reason) => {
      const path = `${folder}${name}`;
      await expect(
        resolveConnection({
          url: `postgresql://ann:secret@localhost/catalog?sslmode=verify-full&sslrootcert=${path}`,
        }),
      ).rejects.toThrow(
        `--url names a file that can't be read: ${reason(path)}`,
      );
    },
  );

  it('without a user is refused where the environment has none', async () => {
    const { exitCode, stderr } = await runCli(['status'], {
      env: {
        ...NO_USER,
        MIGRATION_DATABASE_URL: 'postgresql://localhost/catalog',
      },
    });
    expect(stderr).toContain(
      'MIGRATION_DATABASE_URL names no user. Expected postgresql://<user>:',
    );
    expect(exitCode).toBe(2);
  });
});
