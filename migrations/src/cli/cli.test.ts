import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestDatabases } from '@internal/postgres/testUtils';
import { forEachTest } from '../__testUtils__/forEachTest';
import { createCatalogDatabase } from '../__testUtils__/catalogDatabase';
import { EXIT_CODES } from '../errors';
import {
  runCli,
  runWithoutDatabase,
  startCli,
  urlEnvironment,
  urlOf,
} from './__testUtils__/runCli';
import { commands } from './program';

const databases = createTestDatabases({ versions: 'newest' });

describe('help', () => {
  it('lists every command when it is asked for, and fails when it is not', async () => {
    const [asked, unasked] = await Promise.all([
      runCli(['--help']),
      runCli([]),
    ]);
    expect(asked).toMatchObject({ exitCode: 0, stderr: '' });
    for (const { name } of commands) {
      expect(asked.stdout).toMatch(new RegExp(`^ +${name} `, 'm'));
    }
    expect(unasked).toMatchObject({ exitCode: EXIT_CODES.usage, stdout: '' });
  });

  it.each(
    commands.map(({ name, subcommand }) =>
      [name, subcommand].filter(Boolean).join(' '),
    ),
  )('tells about %s', async name => {
    const { exitCode, stdout, stderr } = await runWithoutDatabase(
      ...name.split(' '),
      '--help',
    );
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toContain(
      `Usage: npx backstage-catalog-tenancy-cli ${name} `,
    );
    for (const option of [
      '--schema <name>',
      '--batch-size <rows>',
      '--json',
      '--url <url>',
      '--config <file>',
    ]) {
      expect(stdout).toContain(option);
    }
    expect(stdout).toContain('Exit codes:');
  });

  it('has the version of the package', async () => {
    const { version } = jest.requireActual('../../package.json');
    await expect(runWithoutDatabase('--version')).resolves.toEqual({
      exitCode: EXIT_CODES.done,
      stdout: `${version}\n`,
      stderr: '',
    });
  });

  it('ends well where nobody reads it', async () => {
    for (const args of [['--help'], ['tenant', 'apply', '--help']]) {
      const running = startCli(args);
      running.stopReading();
      await expect(running.result).resolves.toMatchObject({ exitCode: 0 });
    }
  });

  it('is there for every command that package.json has a script for', () => {
    const { scripts } = jest.requireActual('../../../package.json') as {
      scripts: Record<string, string>;
    };
    for (const { name } of commands.filter(each => !each.subcommand)) {
      expect(scripts[`migrate:${name}`]).toMatch(
        new RegExp(`migrations/src/cli/index.ts ${name}$`),
      );
    }
    expect(scripts.tenant).toMatch(/backstage-catalog-tenancy-cli tenant$/);
  });
});

describe('wrong usage', () => {
  it.each([
    [['nonsense'], "unknown command 'nonsense'"],
    [['status', '--nonsense'], "unknown option '--nonsense'"],
    [['status', 'nonsense'], 'too many arguments'],
    [
      ['phase1', '--max-pause', 'soon'],
      "argument 'soon' is invalid. Expected a whole number of milliseconds from 1",
    ],
    [['phase2', '--batch-size', '2.5'], 'Expected a whole number of rows'],
    [['rollback', '--to', '6'], 'of a phase from 0 to 5'],
    [['partition', 'acme', '--max-block', '600001'], 'from 1 to 600000'],
    [['status', '--schema', 'x'.repeat(64)], 'of 1 to 63 bytes'],
    [['status', '--schema', 'pg_catalog'], 'Expected a schema of yours'],
    [['phase2', '--tenant-name', ' '], 'Expected a name of 1 to 255'],
    [
      ['phase6', '--base-url', 'https://user:hush@example.com'],
      'Expected an address such as https://',
    ],
    [
      ['status', '--url', 'postgresql://h/d', '--config', 'c.yaml'],
      'cannot be used with',
    ],
    [
      ['status', '--url', 'mysql://u:hush@h/d'],
      '--url is not the URL of a PostgreSQL database. Expected postgresql://',
    ],
    [['status', '--config', 'no-such-file.yaml'], 'no-such-file.yaml'],
  ])('%j is refused with exit code 2', async (args, expected) => {
    const { exitCode, stdout, stderr } = await runWithoutDatabase(...args);
    expect({ exitCode, stdout }).toEqual({
      exitCode: EXIT_CODES.usage,
      stdout: '',
    });
    expect(stderr).toContain(expected);
    expect(stderr).not.toContain('hush');
  });

  it('is told in JSON, too', async () => {
    const { exitCode, stdout } = await runWithoutDatabase(
      ...['tenant', 'purge', '--json', '--url=postgres://u:hush@h', '--all'],
    );
    expect(exitCode).toBe(EXIT_CODES.usage);
    expect(JSON.parse(stdout)).toEqual({
      error: {
        name: 'UsageError',
        message: "unknown option '--all'",
        exitCode: EXIT_CODES.usage,
      },
    });
  });
});

describe.each(databases.eachSupportedId().slice(-1))('connecting to %s', id => {
  const database = forEachTest(() => createCatalogDatabase(databases, id));

  it('takes the URL from the environment, or from an option', async () => {
    const results = await Promise.all([
      runCli(['status'], { env: urlEnvironment(database.connection) }),
      runCli(['status', '--url', urlOf(database.connection)]),
    ]);
    for (const result of results) {
      expect(result).toMatchObject({ exitCode: 0, stderr: '' });
      expect(result.stdout).toContain('no phase is complete');
    }
  });

  it("takes it from the configuration of the repository it runs in, and from that repository's environment", async () => {
    const { host, port, user, password, database: name } = database.connection;
    const app = await mkdtemp(join(tmpdir(), 'repository-'));
    try {
      await writeFile(join(app, 'package.json'), '{"name":"root"}');
      const settings = (connection: object) =>
        JSON.stringify({
          backend: {
            database: {
              client: 'pg',
              connection: { host, port, user, ...connection },
              plugin: { catalog: { connection: { database: name } } },
            },
          },
        });
      await writeFile(
        join(app, 'app-config.yaml'),
        settings({ password: '${PORTAL_PASSWORD}' }),
      );
      await writeFile(join(app, 'other.yaml'), settings({ password, port: 1 }));
      const env = { PORTAL_PASSWORD: String(password) };
      const [found, named] = await Promise.all([
        runCli(['status'], { cwd: app, env }),
        runCli(['status', '--config', 'other.yaml'], { cwd: app, env }),
      ]);
      expect(found).toMatchObject({ exitCode: 0, stderr: '' });
      expect(found.stdout).toContain('no phase is complete');
      expect(named.stderr).toContain(':1 as ');
    } finally {
      await rm(app, { recursive: true });
    }
  });

  it.each([
    [
      'nobody who answers',
      { port: 1 },
      'ECONNREFUSED 127.0.0.1:1. Start the server, or check the host and the port in the URL',
    ],
    [
      'a wrong password',
      { password: 'wrong-hush' },
      'password authentication failed for user "postgres". Check the user and the password in the URL',
    ],
    [
      'no such database',
      { database: 'nowhere' },
      'database "nowhere" does not exist. Create it, or check the name in the URL',
    ],
    [
      'no such host',
      { host: 'nowhere.invalid' },
      'nowhere.invalid. Check the host in the URL',
    ],
  ])('says in one line that there is %s', async (_, wrong, expected) => {
    const to = { ...database.connection, host: '127.0.0.1', ...wrong };
    const url = urlOf(to);
    const { exitCode, stdout, stderr } = await runCli(['status', '--json'], {
      env: { MIGRATION_DATABASE_URL: url },
    });
    expect(exitCode).toBe(EXIT_CODES.unexpected);
    expect(stderr).toContain(
      `Can't connect to the database "${to.database}" at ${to.host}:${to.port} as "${to.user}": `,
    );
    expect(stderr).toContain(expected);
    expect(stderr.trim()).not.toContain('\n');
    expect(JSON.parse(stdout).error).toEqual({
      name: 'ConnectionError',
      message: expect.stringContaining(expected),
      exitCode,
    });
    expect(stdout + stderr).not.toContain('wrong-hush');
    expect(stdout + stderr).not.toContain(database.connection.password);
  });
});
