import { findPgBouncer, PgBouncer, Postgres } from '@internal/postgres';
import {
  alterDatabase as alter,
  createTestDatabases,
  HOSTILE_SETTINGS,
  withClient,
} from '@internal/postgres/testUtils';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import os from 'node:os';
import { Client } from 'pg';
import { forEachTest } from '../__testUtils__/forEachTest';
import { createCatalogDatabase } from '../__testUtils__/catalogDatabase';
import { runPhases } from '../__testUtils__/runPhases';
import { runInProcess } from '../cli/__testUtils__/runCli';
import { ConnectionLostError, EXIT_CODES } from '../errors';
import { rollback } from '../rollback/rollback';
import { verify } from '../verify/verify';
import { MigrationSession } from './MigrationSession';
import { applicationName } from './operatorLock';

const databases = createTestDatabases();

// Each is not what our statements rely on. A session is given a second, in which it
// takes the timeouts away.
const HOSTILE: Record<string, string> = {
  ...HOSTILE_SETTINGS,
  search_path: 'public',
  exit_on_error: 'on',
  default_transaction_isolation: 'serializable',
  row_security: 'on',
  statement_timeout: '1000',
  lock_timeout: '1000',
  idle_session_timeout: '1000',
  idle_in_transaction_session_timeout: '1000',
  transaction_timeout: '1000',
  // That of the database: no partitioned table can be created with it.
  default_tablespace: 'pg_default',
  session_replication_role: 'replica',
};
// Nothing that commands read is XML, and warnings about a way to write texts do no harm.
const { xmloption: _, escape_string_warning: __, ...OVERRIDDEN } = HOSTILE;

describe.each(databases.eachSupportedId())('a session on %s', id => {
  const database = forEachTest(() => createCatalogDatabase(databases, id));

  const hostile = () => alter(database.connection, HOSTILE);

  it('has none of the settings that the database sets for its sessions', async () => {
    const ours = () =>
      database.migrate(
        ({ context }) =>
          context.executor.read<{ name: string; setting: string }>(
            `select name, setting from pg_settings
              where lower(name) = any ($1) order by name`,
            [Object.keys(OVERRIDDEN)],
          ),
        { mode: 'read' },
      );
    const before = await ours();
    await hostile();
    expect(await ours()).toEqual(before);
    expect(before.length).toBeGreaterThan(20);
  });

  it('goes all the way and back whatever the database sets for its sessions', async () => {
    await hostile();
    await runPhases(database, 5);
    await database.migrate(
      async migration => {
        const { checks } = await verify(migration);
        expect(checks.length).toBeGreaterThan(0);
        // Of all of them, this one alone harms the application's sessions.
        expect(checks.flatMap(({ problems }) => problems)).toEqual([
          expect.stringContaining('reset session_replication_role'),
        ]);
      },
      { mode: 'read' },
    );
    await database.migrate(migration => rollback(migration, 0));
    await database.migrate(
      async migration => expect(await migration.completedSteps()).toEqual([]),
      { mode: 'read' },
    );
  });

  it('waits until what it commits is on disk, which the server of these tests does not', async () => {
    const [{ level }] = await database.migrate(
      ({ context: { executor } }) =>
        executor.read<{ level: string }>(
          `select current_setting('synchronous_commit') as level`,
        ),
      { mode: 'read' },
    );
    expect(level).toBe('on');
  });

  it('is ended by the server once the host of its client has vanished', async () => {
    const [limits] = await database.migrate(
      ({ context: { executor } }) =>
        executor.read(
          `select current_setting('tcp_keepalives_idle') as idle,
                  current_setting('tcp_keepalives_interval') as interval,
                  current_setting('tcp_keepalives_count') as count`,
        ),
      { mode: 'read' },
    );
    expect(limits).toEqual({ idle: '30', interval: '10', count: '6' });
  });

  it.each([
    'alter database DATABASE',
    'alter role current_user in database DATABASE',
  ])(
    'refuses to change a database whose sessions are read-only by "%s", until what it prints has run',
    async alters => {
      const { database: name } = database.connection;
      await database.client.query(
        `${alters.replace(
          'DATABASE',
          `"${name}"`,
        )} set default_transaction_read_only = on`,
      );
      const failure = await database
        .migrate(migration => migration.runPhase(1))
        .catch(error => error);
      expect(failure).toMatchObject({
        exitCode: EXIT_CODES.refused,
        message: expect.stringContaining('default_transaction_read_only is on'),
      });
      await database.migrate(
        async migration => expect(await migration.completedSteps()).toEqual([]),
        { mode: 'read' },
      );
      await database.client.query(
        failure.message.match(/alter .* reset .*/)[0],
      );
      await database.migrate(migration => migration.runPhase(1));
    },
  );

  it('says that the server has begun to refuse writes, and goes on when it takes them', async () => {
    const runPhase1 = (setting = 'off') =>
      database.migrate(async migration => {
        // As a provider does whose disk is filling up: sessions follow at once.
        await migration.context.executor.read(
          `set default_transaction_read_only = ${setting}`,
        );
        await migration.runPhase(1);
      });
    await expect(runPhase1('on')).rejects.toMatchObject({
      exitCode: EXIT_CODES.refused,
      message: expect.stringContaining('takes no writes'),
    });
    await runPhase1();
  });

  it('refuses a schema whose name was taken a moment ago', async () => {
    await expect(
      database.migrate(({ context }) =>
        context.executor.execute('create schema tenancy'),
      ),
    ).rejects.toMatchObject({
      exitCode: EXIT_CODES.refused,
      message: expect.stringContaining('schema "tenancy" already exists'),
    });
  });

  it('is ended by an error of any code, as by a conflict on a standby', async () => {
    const failure = await database
      .migrate(
        async ({ context: { executor } }) => {
          await executor.read('set exit_on_error = on');
          await executor.read('select 1 / 0');
        },
        { mode: 'read' },
      )
      .catch(error => error);
    expect(failure).toBeInstanceOf(ConnectionLostError);
    expect(failure.message).toContain('(division by zero)');
  });

  it('names what ended it', async () => {
    const failure = await database
      .migrate(
        async ({ context: { executor } }) => {
          const [{ pid }] = await executor.read<{ pid: number }>(
            'select pg_backend_pid() as pid',
          );
          await database.client.query('select pg_terminate_backend($1)', [pid]);
          await executor.read('select pg_sleep(60)');
        },
        { mode: 'read' },
      )
      .catch(error => error);
    expect(failure).toBeInstanceOf(ConnectionLostError);
    expect(failure.message).toContain(
      'terminating connection due to administrator command',
    );
    expect(failure.message).toContain('run the same command again');
  });
});

it('says that a server takes no connections now, with the exit code of a lost connection', async () => {
  const server = await Postgres.start();
  const held = new Client(server.connectionString());
  const ended = new Promise(resolve => held.once('end', resolve));
  await held.connect();
  try {
    // A smart shutdown waits for the session that is held, and takes no other one.
    process.kill(server.pid, 'SIGTERM');
    const failure = await refusalOf(server.connectionString());
    expect(failure).toBeInstanceOf(ConnectionLostError);
    expect(failure).toMatchObject({
      exitCode: EXIT_CODES.connectionLost,
      message: expect.stringMatching(
        /takes no connections now \(the database system is .*\)/,
      ),
    });
  } finally {
    await held.end();
    await ended;
    await server.stop();
  }
});

it('says that a login has no session left, with the exit code of a lost connection', async () => {
  const server = await Postgres.start();
  const admin = new Client(server.connectionString());
  await admin.connect();
  await admin.query(
    `create role limited login password 'limited' connection limit 0`,
  );
  const url = new URL(server.connectionString());
  Object.assign(url, { username: 'limited', password: 'limited' });
  const failure = await refusalOf(url.href);
  await admin.end();
  await server.stop();
  expect(failure).toMatchObject({
    exitCode: EXIT_CODES.connectionLost,
    message: expect.stringMatching(
      /takes no connections now \(too many connections for role "limited"\)\. Nothing was done/,
    ),
  });
});

const pgBouncer = findPgBouncer();
(pgBouncer ? describe : describe.skip)('behind PgBouncer', () => {
  const database = forEachTest(() =>
    createCatalogDatabase(databases, databases.eachSupportedId()[0][0], {
      phase: 5,
    }),
  );
  let bouncer: PgBouncer;
  const start = async (pool_mode: string, connections: number) => {
    const { host, port, user, password, database: name } = database.connection;
    bouncer = await PgBouncer.start(
      pgBouncer!,
      {
        host: String(host),
        port: Number(port),
        user: String(user),
        password: String(password),
        database: String(name),
      },
      { connections, settings: { pool_mode } },
    );
  };
  afterEach(() => bouncer.stop());

  const commands = [
    ['preflight'],
    ['status'],
    ['upgrade'],
    ['tenant', 'export', 'default', '/dev/null'],
  ];

  it.each([
    ['transaction', 1, 'pooled by transactions, and a command needs a session'],
    ['transaction', 3, 'pooled by transactions, and a command needs a session'],
    [
      'statement',
      1,
      'transaction blocks not allowed in statement pooling mode',
    ],
  ])(
    'which pools each %s on %d connections, refuses every command before it leaves a setting to others',
    async (mode, connections, reason) => {
      await start(mode, connections);
      for (const command of commands) {
        expect(
          await runInProcess(bouncer.connection, ...command),
        ).toMatchObject({
          exitCode: EXIT_CODES.refused,
          stderr: expect.stringMatching(
            new RegExp(`${reason}.*PgBouncer: pool_mode = session`),
          ),
        });
      }
      const [others] = await withClient(
        bouncer.connection,
        async client => (await client.query('show search_path')).rows,
      );
      expect(others).toEqual({ search_path: '"$user", public' });
    },
  );

  it('which keeps sessions, runs them', async () => {
    await start('session', 3);
    for (const command of [['status'], ['upgrade'], ['verify']]) {
      expect(await runInProcess(bouncer.connection, ...command)).toMatchObject({
        exitCode: EXIT_CODES.done,
      });
    }
  });
});

it('is named after the id of a user that has no name, as in a container', () => {
  const unknown = jest.spyOn(os, 'userInfo').mockImplementation(() => {
    throw new Error('uv_os_get_passwd returned ENOENT');
  });
  expect(applicationName('status')).toMatch(
    /^catalog-tenancy status uid-\d+@./,
  );
  unknown.mockRestore();
});

it('gives up a server that takes the connection, and never answers', async () => {
  const silent = createServer();
  await new Promise<void>(done => {
    silent.listen(0, '127.0.0.1', done);
  });
  const { port } = silent.address() as AddressInfo;
  const connected = once(silent, 'connection');
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate'] });
  try {
    const opening = MigrationSession.open({
      connection: { host: '127.0.0.1', port, user: 'ann', database: 'catalog' },
      schema: 'tenancy',
      applicationName: 'test',
    });
    const [socket] = (await connected) as [Socket];
    jest.advanceTimersByTime(60_000);
    await expect(opening).rejects.toThrow(
      `Can't connect to the database "catalog" at 127.0.0.1:${port} as "ann": no answer in time. Start the server, or check the host, the port and the firewall in`,
    );
    socket.destroy();
  } finally {
    jest.useRealTimers();
    silent.close();
  }
});

/** What opening a session ends with; until the signal has arrived, it succeeds. */
async function refusalOf(connectionString: string): Promise<unknown> {
  const deadline = Date.now() + 30_000;
  while (Date.now() < deadline) {
    try {
      const session = await MigrationSession.open({
        connection: { connectionString },
        schema: 'tenancy',
        applicationName: 'test',
      });
      await session.close();
    } catch (error) {
      return error;
    }
  }
  throw new Error('The server took connections for 30 seconds.');
}
