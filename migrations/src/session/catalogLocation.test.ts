import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigReader } from '@backstage/config';
import { createTestDatabases } from '@internal/postgres/testUtils';
import type { ClientConfig } from 'pg';
import {
  createStockCatalog,
  engineOf,
  STOCK_MIGRATIONS,
} from '../adopt/__testUtils__/stockCatalog';
import type { StockCatalog } from '../adopt/__testUtils__/stockCatalog';
import { runWithoutDatabase, urlOf } from '../cli/__testUtils__/runCli';
import { connectionOfCatalog, locateCatalog } from './catalogLocation';

const OWNER = { host: 'db.example', port: 5432, user: 'owner', password: 'pw' };
const AWS = { type: 'rds', region: 'eu-central-1' };

async function connectionOf(
  connection: object | string,
  ...differences: (object | string)[]
): Promise<ClientConfig> {
  const config = new ConfigReader({
    backend: { database: { client: 'pg', connection, prefix: 'portal_' } },
  });
  return connectionOfCatalog(config, differences);
}

async function passwordOf({ password }: ClientConfig): Promise<unknown> {
  return typeof password === 'function' ? password() : password;
}

describe('the connection of another user', () => {
  beforeAll(() => {
    process.env.AWS_ACCESS_KEY_ID = 'AKIAIOSFODNN7EXAMPLE';
    process.env.AWS_SECRET_ACCESS_KEY = 'only-for-tests';
  });
  afterAll(() => {
    delete process.env.AWS_ACCESS_KEY_ID;
    delete process.env.AWS_SECRET_ACCESS_KEY;
  });

  it.each<[string, object | string, (object | string)[], object]>([
    [
      'is that of the catalog without a difference',
      OWNER,
      [{}],
      { ...OWNER, database: 'portal_catalog' },
    ],
    [
      'has no password and no options of the catalog',
      { ...OWNER, options: '-c role=boss', ssl: { ca: 'ca' } },
      [{ user: 'app' }],
      {
        host: 'db.example',
        user: 'app',
        password: undefined,
        ssl: { ca: 'ca' },
      },
    ],
    [
      'may be a URL, over a URL',
      'postgresql://owner:pw@db.example:6432/other',
      ['postgresql://app:p%40ss@other.example/tenants'],
      {
        host: 'other.example',
        port: '6432',
        user: 'app',
        password: 'p@ss',
        database: 'tenants',
      },
    ],
    [
      'may be a URL that switches encryption off',
      { ...OWNER, ssl: true },
      ['postgresql://app:pw@db.example?sslmode=disable'],
      { user: 'app', ssl: false, database: 'portal_catalog' },
    ],
    [
      'may be keys, over a URL with a password',
      'postgresql://owner:pw@db.example/other',
      [{ user: 'app' }],
      {
        host: 'db.example',
        user: 'app',
        password: undefined,
        database: 'portal_catalog',
      },
    ],
    [
      'keeps the password of the same user',
      OWNER,
      [{ user: 'owner', host: 'replica.example' }],
      { ...OWNER, host: 'replica.example' },
    ],
    [
      'has the password that is given, where the catalog has tokens',
      { ...OWNER, ...AWS, password: undefined },
      [{ user: 'app', password: 'its own' }],
      { user: 'app', password: 'its own' },
    ],
  ])('%s', async (_, catalog, differences, expected) => {
    const connection = await connectionOf(catalog, ...differences);
    expect(connection).toMatchObject(expected);
    expect(connection).not.toHaveProperty('options');
  });

  it.each<[string, object, object[], string]>([
    ['the user', AWS, [{ user: 'app' }], 'db.example:5432/?Action=connect'],
    [
      'the user, where the catalog has a password',
      {},
      [{ ...AWS, user: 'app' }],
      'db.example:5432/?Action=connect',
    ],
    [
      'the host and the port of a replica',
      AWS,
      [{ user: 'app' }, { host: 'replica.example', port: 6432 }],
      'replica.example:6432/?Action=connect',
    ],
  ])('signs a token of RDS for %s', async (_, type, differences, expected) => {
    const connection = await connectionOf(
      { ...OWNER, ...type },
      ...differences,
    );
    const token = String(await passwordOf(connection));
    expect(token).toContain(expected);
    expect(token).toContain('DBUser=app');
  });
});

const databases = createTestDatabases({ versions: 'newest' });

describe.each(databases.eachSupportedId())('two stock catalogs on %s', id => {
  const OWN = 'portal_catalog';
  let folder: string;
  let catalog: StockCatalog;
  let file: string;

  const databaseOf = (settings: object) => {
    const { host, port, user, password, database } = catalog.connection;
    const connection = { host, port, user, password, database };
    return { client: 'pg', connection, ...settings } as {};
  };
  /** The one that the backend of a configuration works in. */
  const locate = async (settings: object) => {
    const backend = { database: databaseOf(settings) };
    return (await locateCatalog(new ConfigReader({ backend }))).schema;
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'locate-'));
    catalog = await createStockCatalog(databases, id, { catalogSchema: OWN });
    await catalog.engine.ingest({ ref: 'component:default/a' });
    const other = engineOf(catalog.connection, 'public');
    await other.knex.migrate.latest({ directory: STOCK_MIGRATIONS });
    await other.knex.destroy();
    file = join(folder, 'app-config.yaml');
    const database = databaseOf({
      pluginDivisionMode: 'schema',
      schemaPrefix: 'portal_',
    });
    // YAML, as all JSON is.
    await writeFile(file, JSON.stringify({ backend: { database } }));
  });
  afterAll(async () => {
    await catalog.close();
    await rm(folder, { recursive: true });
  });

  it('are told apart by what the connection of the backend sees', async () => {
    const { database } = catalog.connection;
    const plugin = { catalog: { connection: { database } } };
    const mode = { pluginDivisionMode: 'schema' };
    await expect(
      Promise.all([
        locate({ plugin }),
        locate({ ...mode, schemaPrefix: 'portal_' }),
        locate({ plugin, knexConfig: { searchPath: ['absent', OWN] } }),
        // Where neither stands, the search path names no schema.
        locate({ ...mode, schemaPrefix: 'absent_' }),
      ]),
    ).resolves.toEqual(['public', OWN, OWN, undefined]);
  });

  it('are told apart by the command line with the configuration, and by nothing without', async () => {
    const run = (...args: string[]) => runWithoutDatabase(...args, '--json');
    const without = await run('adopt', '--url', urlOf(catalog.connection));
    expect(without.stdout).toContain(
      'Several schemas have tables of a stock catalog: \\"portal_catalog\\", \\"public\\"',
    );
    const status = await run('status', '--config', file);
    expect(JSON.parse(status.stdout)).toMatchObject({
      next: {
        what: 'Adopt the stock catalog in the schema "portal_catalog", with 1 entity',
      },
    });
    const adopted = await run('adopt', '--config', file);
    expect(JSON.parse(adopted.stdout)).toMatchObject({
      adoption: { adopted: true, catalogSchema: OWN, engineEntities: 1 },
    });
  });
});
