import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestDatabases } from '@internal/postgres/testUtils';
import { Client, type ClientConfig } from 'pg';
import { migrateTo } from '../migrateTo';
import { runCli } from './__testUtils__/runCli';

const databases = createTestDatabases({ versions: 'newest' });
const PASSWORD = 'only-for-tests';

describe.each(databases.eachSupportedId())('doctor on %s', id => {
  let folder: string;
  let connection: ClientConfig;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'doctor-'));
    connection = await databases.create(id);
    await migrateTo(5, { connection, createTables: true });
    const client = new Client(connection);
    await client.connect();
    await client
      .query(`alter role portal_app login password '${PASSWORD}'`)
      .finally(() => client.end());
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  async function doctor(
    options: { user?: string; port?: number; tenancy?: object } = {},
    ...args: string[]
  ) {
    const { host, port, user, password, database } = connection;
    const file = join(folder, 'app-config.json.yaml');
    const config = {
      backend: {
        baseUrl: 'http://localhost:7007',
        database: {
          client: 'pg',
          connection: { host, port: options.port ?? port, user, password },
          plugin: { catalog: { connection: { database } } },
        },
      },
      tenancy: {
        enabled: true,
        baseDomains: ['localhost'],
        admins: ['user:default/jane'],
        database: {
          connection: {
            user: options.user ?? 'portal_app',
            password: PASSWORD,
          },
        },
        ...options.tenancy,
      },
    };
    await writeFile(file, JSON.stringify(config));
    return runCli(['doctor', '--config', file, ...args]);
  }

  it('says that nothing is wrong, of each subject', async () => {
    const { exitCode, stdout } = await doctor({}, '--json');
    const { findings } = JSON.parse(stdout);
    expect(
      findings.filter(({ level }: { level: string }) => level !== 'ok'),
    ).toEqual([]);
    const subjects = findings.map(
      ({ subject }: { subject: string }) => subject,
    );
    expect(subjects).toEqual(
      expect.arrayContaining([
        ...['configuration', 'database', 'tables', 'isolation'],
        ...['hostnames', 'proxies', 'tokens', 'administrators'],
        ...['configuration of engines', 'versions'],
      ]),
    );
    expect(exitCode).toBe(0);
  });

  it('says what is wrong, and ends with 1', async () => {
    const { exitCode, stdout } = await doctor({
      user: String(connection.user),
      tenancy: { engines: { rol: 'all' } },
    });
    expect(stdout).toMatch(
      /^FAILURE {2}configuration of engines: .*engines\.rol/m,
    );
    expect(stdout).toMatch(/^\d+ failures?, /m);
    expect(exitCode).toBe(1);
  });

  it('ends with 2 where it cannot look', async () => {
    const away = await doctor({ port: 1 });
    expect(away.stdout).toMatch(/^UNKNOWN {2}database: .*ECONNREFUSED/m);
    expect(away.exitCode).toBe(2);
    const unread = await runCli(['doctor', '--config', join(folder, 'none')]);
    expect(unread.stderr).toMatch(/^Error: .*Give the files with --config\.$/m);
    expect(unread.exitCode).toBe(2);
  });

  it('shows no secret', async () => {
    const { stdout, stderr } = await doctor({ user: 'nobody' });
    expect(stdout + stderr).not.toContain(PASSWORD);
  });
});
