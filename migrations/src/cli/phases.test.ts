import { createTestDatabases, waitUntil } from '@internal/postgres/testUtils';
import { spawnSync } from 'node:child_process';
import { Client } from 'pg';
import { createCatalogDatabase } from '../__testUtils__/catalogDatabase';
import { forEachTest } from '../__testUtils__/forEachTest';
import { catalogSnapshot } from '../__testUtils__/catalogSnapshot';
import { EXIT_CODES } from '../errors';
import { phase1 } from '../phases/phase1_tenant_column';
import { phase5 } from '../phases/phase5_partitions';
import {
  BY_BIN,
  runCli,
  runInProcess,
  startCli,
  urlEnvironment,
} from './__testUtils__/runCli';

const databases = createTestDatabases({ versions: 'newest' });
const PREFLIGHT = ['--backup-completed'];
const STEPS = phase1.steps.map(({ name }) => name);

// On one version: `managed.test.ts` runs them on all.
describe.each(databases.eachSupportedId().slice(-1))(
  'the commands on %s',
  id => {
    const database = forEachTest(() => createCatalogDatabase(databases, id));
    let env: Record<string, string>;
    beforeEach(() => {
      env = urlEnvironment(database.connection);
    });

    /** In this process; how a process prints and ends is the first test's subject. */
    const run = (...args: string[]) =>
      runInProcess(database.connection, ...args);

    it('print a summary with what comes next, and keep the log apart from it', async () => {
      const { exitCode, stdout, stderr } = await runCli(
        ['phase1', ...PREFLIGHT],
        {
          env,
        },
      );
      expect(exitCode).toBe(0);
      expect(stdout).toContain(
        `Phase 1 is complete: ${STEPS.length} steps done.`,
      );
      expect(stdout).toContain(
        'Next: Phase 2: Backfill (npx backstage-catalog-tenancy-cli phase2)',
      );
      expect(stderr).toMatch(
        /^Warning: pg_cron: pg_cron is missing: it is not created in this database\.\n {9}Nothing/,
      );
      expect(stderr).toContain('Create the table tenants');
      expect(stdout).not.toContain('Create the table tenants');
    });

    it('go on to their end where nobody reads what they print', async () => {
      const running = startCli(['phase1', ...PREFLIGHT], { env });
      running.stopReading();
      await expect(running.result).resolves.toMatchObject({ exitCode: 0 });
      expect(JSON.parse((await run('status', '--json')).stdout).phase).toBe(1);
      // A log whose disk is full.
      const { status, stdout } = spawnSync(
        'sh',
        ['-c', '"$0" "$@" 2> /dev/full', ...BY_BIN, 'phase2'],
        { env: { ...process.env, ...env }, encoding: 'utf8' },
      );
      expect(stdout).toContain('Phase 2 is complete');
      expect(status).toBe(0);
    });

    it('print one JSON document where that is asked for', async () => {
      const first = await run('phase1', '--json', ...PREFLIGHT);
      expect(JSON.parse(first.stdout)).toMatchObject({
        command: 'phase1',
        schema: 'tenancy',
        phase: 1,
        done: STEPS,
      });
      const again = await run('phase1', '--json', ...PREFLIGHT);
      expect(JSON.parse(again.stdout)).toMatchObject({ phase: 1, done: [] });
      const back = await run('rollback', '--json', '--to', '0');
      expect(JSON.parse(back.stdout)).toMatchObject({
        phase: 0,
        done: [],
        undone: [...STEPS].reverse(),
      });
    });

    it('begin with the preflight, which refuses a migration without a backup', async () => {
      const args = ['--json'];
      const [phase1Run, preflight] = await Promise.all([
        run('phase1', ...args),
        run('preflight', ...args),
      ]);
      for (const { exitCode, stdout, stderr } of [phase1Run, preflight]) {
        expect(exitCode).toBe(EXIT_CODES.refused);
        expect(stderr).toContain('backup');
        expect(JSON.parse(stdout)).toMatchObject({
          phase: 0,
          done: [],
          findings: expect.arrayContaining([
            expect.objectContaining({ check: 'backup', level: 'failure' }),
          ]),
          error: { name: 'RefusedError' },
        });
      }
    });

    it('print advised SQL as it runs, where the password is a word of it', async () => {
      const user = `redact_login_${process.pid}`;
      await database.client.query(
        `create role ${user} login password 'portal'`,
      );
      const { stderr } = await runInProcess(
        { ...database.connection, user, password: 'portal' },
        'phase1',
        ...PREFLIGHT,
      );
      await database.client.query(`drop role ${user}`);
      expect(stderr).toMatch(/create role portal_(admin|app)|portal_admin to /);
      expect(stderr).not.toContain('***');
    });

    it('refuse a phase whose predecessor is not complete', async () => {
      const { exitCode, stdout, stderr } = await run('phase2', '--json');
      expect(exitCode).toBe(EXIT_CODES.refused);
      expect(stderr).toContain('Phase 2 needs phase 1');
      expect(stderr).not.toContain('2_10_default_tenant');
      expect(JSON.parse(stdout)).toMatchObject({
        command: 'phase2',
        phase: 0,
        done: [],
        error: { name: 'RefusedError', exitCode: EXIT_CODES.refused },
      });
    });

    it('print what a dry run would do, of batches one, and change nothing', async () => {
      const dryRun = async (...args: string[]) => {
        const before = await catalogSnapshot(database.client);
        const text = await run(...args, '--dry-run');
        expect(text).toMatchObject({
          exitCode: 0,
          stdout: expect.stringMatching(/\n-- .* nothing was changed\.\n$/),
        });
        const json = await run(...args, '--dry-run', '--json');
        const { sql, ...document } = JSON.parse(json.stdout);
        expect(document).toMatchObject({ done: [], dryRun: true });
        expect(text.stdout).toContain(sql);
        expect(await catalogSnapshot(database.client)).toEqual(before);
        return text.stdout;
      };
      await expect(run('phase1', '--dry-run')).resolves.toMatchObject({
        exitCode: EXIT_CODES.refused,
        stdout: expect.not.stringContaining('create table'),
      });
      const first = await dryRun('phase1', ...PREFLIGHT);
      expect(first).toMatch(/^-- What .*\n\\quit\n/);
      expect(first).toMatch(/^create table.* tenants /m);
      await dryRun('all', ...PREFLIGHT);
      await database.client.query('create extension pg_trgm schema public');
      await database.migrate(migration => migration.runPhase(1));
      expect(await dryRun('phase2')).toMatch(
        /-- Fill entities: each range of blocks of entities in a batch\. ACCESS SHARE .*\n[^]*update entities set tenant_id/,
      );
      for (const number of [2, 3, 4] as const) {
        if (number > 2) {
          await dryRun(`phase${number}`);
        }
        await database.migrate(migration => migration.runPhase(number));
      }
      const fifth = await dryRun('phase5');
      for (const { title } of phase5.steps) {
        expect(fifth).toContain(`-- ${title}\n`);
      }
      expect(fifth).toMatch(
        /-- Copy entities: each range .*\n[^]*insert into "?entities_partitioned/,
      );
      expect(fifth).toMatch(
        /^-- Swap the tables\. ACCESS EXCLUSIVE on all [^]*lock table entities in access exclusive mode/m,
      );
      const back = await dryRun('rollback', '--to', '0');
      expect(back).toMatch(/^-- Drop .* ACCESS EXCLUSIVE on /m);
    });

    it('refuse a second operator by name, and tell who only looks', async () => {
      await database.migrate(
        async () => {
          const [second, looking] = await Promise.all([
            runCli(['phase1', ...PREFLIGHT], { env }),
            runCli(['status', '--json'], { env }),
          ]);
          expect(second.exitCode).toBe(EXIT_CODES.otherOperator);
          expect(second.stderr).toContain(
            'Another operator is at work: "catalog-tenancy phase5 ',
          );
          expect(looking.exitCode).toBe(0);
          expect(looking.stderr).toContain('another operator is at work');
          expect(JSON.parse(looking.stdout).operator.name).toContain('phase5');
        },
        { command: 'phase5' },
      );
    });

    it.each([
      ['SIGHUP', 129],
      ['SIGINT', 130],
      ['SIGTERM', 143],
    ] as const)(
      'end in the middle of a statement at %s, and go on when run again',
      async (signal, exitCode) => {
        // Building an index waits for every snapshot that is older than it.
        const application = new Client(database.connection);
        await application.connect();
        await application.query('begin isolation level repeatable read');
        await application.query('select 1');
        const command = startCli(['phase1', '--json', ...PREFLIGHT], { env });
        await buildingIndex(database.client);
        command.signal(signal);
        const { stdout, stderr, ...result } = await command.result;
        expect(result.exitCode).toBe(exitCode);
        expect(stderr).toContain(`Stopped by ${signal}.`);
        expect(stderr).toContain('goes on from there');
        expect(JSON.parse(stdout).error).toMatchObject({
          name: 'InterruptedError',
          exitCode,
        });
        await application.end();
        const again = await runCli(['phase1', '--json', ...PREFLIGHT], { env });
        expect(JSON.parse(again.stdout)).toMatchObject({
          phase: 1,
          done: ['1_30_temporary_indexes'],
        });
      },
    );

    it('end while they wait for a lock', async () => {
      await database.client.query('begin');
      await database.client.query('lock table entities in row exclusive mode');
      const command = startCli(['phase1', ...PREFLIGHT], { env });
      await command.said('Waiting for a lock: Add the column tenant_id');
      command.signal('SIGINT');
      await expect(command.result).resolves.toMatchObject({
        exitCode: 130,
        stdout: '',
      });
      await database.client.query('commit');
    });
  },
);

/** Resolves once a command waits in the middle of building an index. */
async function buildingIndex(client: Pick<Client, 'query'>): Promise<void> {
  await waitUntil('the command to wait', async () => {
    const { rowCount } = await client.query(
      `select from pg_stat_activity
        where query like 'create index concurrently%' and wait_event_type = 'Lock'
          and datname = current_database()`,
    );
    return rowCount;
  });
}
