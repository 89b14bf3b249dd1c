import { createTestDatabases } from '@internal/postgres/testUtils';
import { Client } from 'pg';
import { createCatalogDatabase } from '../__testUtils__/catalogDatabase';
import type { CatalogDatabase } from '../__testUtils__/catalogDatabase';
import { runPreflight } from './runPreflight';
import { judgeVersion } from './checks/server';
import { findings, preflight } from './__testUtils__/preflight';

const databases = createTestDatabases();

describe.each([
  [130022, '13.22', 'failure', /14 or later is needed/],
  [140000, '14.0', 'warning', /CVE-2025-8713 and CVE-2024-10976/],
  [140018, '14.18', 'warning', /\(CVE-2025-8713\)/],
  [140019, '14.19', 'ok', /14\.19/],
  [150013, '15.13', 'warning', /CVE-2025-8713/],
  [160004, '16.4', 'warning', /CVE-2024-10976/],
  [170000, '17.0', 'warning', /CVE-2024-10976/],
  [170006, '17.6', 'ok', /17\.6/],
  [180000, '18.0', 'ok', /18\.0/],
])('version %d', (version, text, level, message) => {
  it(`is ${level}`, () => {
    const outcome = judgeVersion(version, text);
    expect(outcome.level).toBe(level);
    expect(outcome.message).toMatch(message);
  });
});

it('says to which minor a server has to be updated', () => {
  expect(judgeVersion(150001, '15.1').advice).toMatch(/15\.14 or later/);
});

describe.each(databases.eachSupportedId())('the preflight on %s', id => {
  let database: CatalogDatabase;
  beforeEach(async () => {
    database = await createCatalogDatabase(databases, id, { entities: 20 });
  });
  afterEach(() => database.close());

  const alterDatabase = async (change: string) => {
    const { database: name } = database.connection;
    await database.client.query(`alter database "${name}" ${change}`);
  };

  it('refuses connections that are pooled by the transaction', async () => {
    const other = new Client(database.connection);
    await other.connect();
    const report = await database.migrate(
      ({ context }) => {
        const pooled = Object.create(context.executor);
        let turn = 0;
        pooled.read = async (sql: string, values?: unknown[]) => {
          turn += 1;
          return turn % 2 === 0
            ? (await other.query(sql, values)).rows
            : context.executor.read(sql, values);
        };
        return runPreflight(
          { ...context, executor: pooled },
          { allowMissing: ['pg_cron'], backupCompleted: true },
        );
      },
      { mode: 'read' },
    );
    await other.end();
    const found = findings(report, 'failure', 'connection');
    expect(found[0].message).toMatch(/^2 processes of the server answered/);
  });

  it('refuses a connection that is older than the command', async () => {
    const uptime = jest.spyOn(process, 'uptime').mockReturnValue(-2);
    const refused = await preflight(database);
    const forced = await preflight(database, { settings: { force: true } });
    uptime.mockRestore();
    expect(findings(refused, 'failure', 'connection')).toHaveLength(1);
    expect(findings(forced, 'warning', 'connection')).toHaveLength(1);
  });

  it('refuses a connection that greets with the process of a pooler', async () => {
    const report = await database.migrate(
      ({ context }) =>
        runPreflight(
          { ...context, serverPid: 1 },
          { allowMissing: ['pg_cron'], backupCompleted: true },
        ),
      { mode: 'read' },
    );
    const [found] = findings(report, 'failure', 'connection');
    expect(found.message).toMatch(/not the one that greeted/);
  });

  it('refuses a database that is read-only, also in a dry run', async () => {
    await alterDatabase('set default_transaction_read_only = on');
    for (const mode of ['read', 'dryRun'] as const) {
      const found = findings(await preflight(database, { mode }), 'failure');
      expect(found).toEqual([expect.objectContaining({ check: 'writable' })]);
    }
  });

  it('names event triggers, with what disables them', async () => {
    const before = findings(await preflight(database), 'ok', 'event triggers');
    expect(before).toHaveLength(1);
    await database.client.query(
      `create function noted() returns event_trigger language plpgsql as 'begin end';
       create event trigger "On DDL" on ddl_command_end execute function noted()`,
    );
    const [found] = findings(
      await preflight(database),
      'warning',
      'event triggers',
    );
    expect(found.message).toContain('On DDL (ddl_command_end)');
    await database.client.query(found.sql!);
    expect(findings(await preflight(database), 'ok', 'event triggers')).toEqual(
      before,
    );
  });

  it('refuses without pg_cron unless that is allowed', async () => {
    const refused = await preflight(database, {
      options: { allowMissing: [] },
    });
    expect(findings(refused, 'failure')).toEqual([
      expect.objectContaining({
        check: 'pg_cron',
        message: 'pg_cron is not available on the server.',
        advice: expect.stringMatching(/--allow-missing pg_cron.*run elsewhere/),
      }),
    ]);
    const [allowed] = findings(await preflight(database), 'warning', 'pg_cron');
    expect(allowed.advice).toMatch(/run elsewhere/);
  });

  it('finds the extensions that are installed', async () => {
    await database.client.query(
      'create extension pg_trgm; create extension "uuid-ossp" with schema public',
    );
    const report = await preflight(database);
    expect(
      findings(report, 'ok', 'extensions').map(({ message }) => message),
    ).toEqual([
      'uuid-ossp is installed, in the schema public.',
      'pg_trgm is installed, in the schema tenancy.',
    ]);
  });

  it('refuses without a confirmed backup', async () => {
    const found = findings(
      await preflight(database, { options: { backupCompleted: false } }),
      'failure',
    );
    expect(found).toEqual([expect.objectContaining({ check: 'backup' })]);
  });

  it('warns of long transactions, and tells no texts of queries', async () => {
    const other = new Client({
      ...database.connection,
      application_name: 'nightly report',
    });
    await other.connect();
    await other.query(`begin; select 'secret'`);
    const report = await preflight(database, {
      options: { longTransactionSeconds: 0 },
    });
    await other.end();
    const found = findings(report, 'warning', 'long transactions');
    expect(found[0].message).toMatch(
      /1 transaction open .*process \d+ of postgres \("nightly report", idle in transaction, \d+ s\)/,
    );
    expect(JSON.stringify(report)).not.toContain('secret');
  });
});
