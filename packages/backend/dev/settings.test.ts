import { ConfigReader } from '@backstage/config';
import { once } from 'events';
import { AddressInfo, createServer } from 'net';
import { resolve } from 'path';
import { assertPortIsFree, parseArguments, readSettings } from './settings';

describe('the arguments of npm start', () => {
  it('pass configuration files on, whatever folder the backend runs in', () => {
    expect(parseArguments(['--config', 'a.yaml', '--config=/b.yaml'])).toEqual({
      config: ['--config', resolve('a.yaml'), '--config', '/b.yaml'],
      app: true,
    });
  });

  it.each([['--confg', 'a.yaml'], ['--app'], ['acme']])(
    'are refused where they are not known: %s',
    (...args) => {
      expect(() => parseArguments(args)).toThrow(
        new RegExp(`'${args[0]}'.*Usage: npm start -- \\[--no-app\\]`),
      );
    },
  );
});

function settingsWith(backend: object) {
  return readSettings(
    new ConfigReader({
      backend: {
        baseUrl: 'https://portal.example',
        database: { client: 'pg' },
        ...backend,
      },
    }),
  );
}

const withConnection = (connection: unknown) =>
  settingsWith({ database: { client: 'pg', connection } }).ownDatabase;

describe('the database', () => {
  it('is embedded when no connection is configured', () => {
    expect(withConnection(undefined)).toBeUndefined();
  });

  it.each([
    [{ host: 'db.example', password: 'secret' }, 'db.example'],
    [{ host: 'db.example', port: '6543' }, 'db.example:6543'],
    ['postgresql://me:secret@db.example:6543/x', 'db.example:6543'],
    ['postgresql://me:secret@db.example/x', 'db.example'],
    ['host=db.example password=secret', 'as configured'],
  ])('is one’s own with the connection %j', (connection, described) => {
    expect(withConnection(connection)).toBe(described);
  });
});

describe('the database of the catalog', () => {
  const nameWith = (database: object) =>
    settingsWith({ database: { client: 'pg', ...database } }).tenancy
      .catalogDatabase;

  it.each([
    [{}, 'backstage_plugin_catalog'],
    [{ prefix: 'portal_' }, 'portal_catalog'],
    [
      { plugin: { catalog: { connection: { database: 'entities' } } } },
      'entities',
    ],
    [{ pluginDivisionMode: 'schema' }, undefined],
  ])('follows backend.database: %j', (database, name) => {
    expect(nameWith(database)).toBe(name);
  });
});

describe('assertPortIsFree', () => {
  it('names the port that is taken, and only while it is', async () => {
    const other = createServer().listen(0, 'localhost');
    await once(other, 'listening');
    const listen = { ...(other.address() as AddressInfo), host: 'localhost' };

    await expect(assertPortIsFree(listen)).rejects.toThrow(
      new RegExp(`^Port ${listen.port} is taken.*$`),
    );
    other.close();
    await once(other, 'close');
    await expect(assertPortIsFree(listen)).resolves.toBeUndefined();
  });
});
