import {
  APPLICATION,
  createTenancyDatabase,
} from '@internal/catalog-testing/tenancyDatabase';
import { changeRole, createTestDatabases } from '@internal/postgres/testUtils';
import { Client, type ClientConfig } from 'pg';
import { TenancyHealth } from './TenancyHealth';
import { TenancyStartupError } from './TenancyStartupError';

const databases = createTestDatabases({ versions: 'newest' });

describe('the health of tenancy', () => {
  it('is well where there is nothing to watch, as with the flag off', async () => {
    await expect(new TenancyHealth().readiness()).resolves.toEqual({
      status: 'ok',
    });
  });

  it.each([
    [new TenancyStartupError('What to type', 'not-migrated'), 'not-migrated'],
    [new TenancyStartupError('What to type'), 'refused'],
    [new Error('unexpected'), 'refused'],
  ])(
    'tells of a failed start, but not its message: %s',
    async (error, reason) => {
      const health = new TenancyHealth();
      health.startFailed(error);
      const answer = await health.readiness();
      expect(answer).toMatchObject({ status: 'error', reason });
      expect(answer.message).not.toContain(error.message);
    },
  );

  it('has details, which decide on nothing', async () => {
    const health = new TenancyHealth();
    health.addDetail('engines', () => ({ failed: 3 }));
    await expect(health.readiness()).resolves.toEqual({
      status: 'ok',
      engines: { failed: 3 },
    });
  });
});

describe.each(databases.eachSupportedId())('a probe on %s', id => {
  let connection: ClientConfig;
  let client: Client;

  beforeAll(async () => {
    connection = await createTenancyDatabase(databases, id);
    client = new Client(connection);
    await client.connect();
  });
  afterAll(() => client.end());

  /** Of a new look, where one may be two seconds old. */
  const look = async (differences: ClientConfig = {}) => {
    const health = new TenancyHealth();
    health.watch({
      connection: { ...connection, ...APPLICATION, ...differences },
      schema: 'tenancy',
    });
    const { reason = 'ready', message } = await health.readiness();
    return message === undefined ? reason : `${reason}: ${message}`;
  };

  it('finds the tables in place, or not', async () => {
    await expect(look()).resolves.toBe('ready');
    await client.query('alter table tenancy.tenancy_ready rename to away');
    await expect(look()).resolves.toMatch(/^not-migrated: /);
    await client.query('alter table tenancy.away rename to tenancy_ready');
    await expect(look()).resolves.toBe('ready');
  });

  it.each<[string, ClientConfig, string]>([
    ['nothing listens', { port: 1 }, 'ECONNREFUSED'],
    ['the database is gone', { database: 'gone' }, '3D000'],
    ['it refuses the password', { password: 'another' }, '28P01'],
  ])('finds no database to use where %s', async (_, differences, code) => {
    await expect(look(differences)).resolves.toBe(
      `database-away: The database of tenants cannot be used (${code})`,
    );
  });

  it('leaves a process in service whose server has no session left', async () => {
    // Of its own: other tests connect as portal_app.
    const user = { user: 'full_up', password: APPLICATION.password };
    await changeRole(
      client,
      `create role full_up login connection limit 0 password '${user.password}'`,
    );
    try {
      await expect(look(user)).resolves.toBe('ready');
    } finally {
      await changeRole(client, 'drop role full_up');
    }
  });
});
