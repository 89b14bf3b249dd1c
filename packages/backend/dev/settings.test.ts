import { ConfigReader } from '@backstage/config';
import { readSettings } from './settings';

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

  it('is embedded when POSTGRES_HOST was not set', () => {
    expect(withConnection({ user: 'me', password: 'secret' })).toBeUndefined();
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

  it('is one’s own when it is no PostgreSQL at all', () => {
    const database = { client: 'better-sqlite3', connection: ':memory:' };
    expect(settingsWith({ database }).ownDatabase).toBe('better-sqlite3');
  });
});

describe('the local URL', () => {
  it.each([
    [undefined, 'http://localhost:7007'],
    [':7008', 'http://localhost:7008'],
    [{ host: '0.0.0.0', port: 7008 }, 'http://localhost:7008'],
    [{ host: '127.0.0.2', port: 7008 }, 'http://127.0.0.2:7008'],
  ])('follows backend.listen: %j', (listen, localUrl) => {
    expect(settingsWith({ listen }).localUrl).toBe(localUrl);
  });

  it('follows backend.https', () => {
    expect(settingsWith({ https: true }).localUrl).toBe(
      'https://localhost:7007',
    );
  });
});
