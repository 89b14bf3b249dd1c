import { createTestDatabases, withClient } from '@internal/postgres/testUtils';
import { forEachTest } from '../__testUtils__/forEachTest';
import { catalogSnapshot } from '../__testUtils__/catalogSnapshot';
import { createCatalogDatabase } from '../__testUtils__/catalogDatabase';
import { connectionOf } from '../__testUtils__/roles';
import { EXIT_CODES } from '../errors';
import { operatorCommand } from '../operatorCommand';
import {
  runCli,
  runInProcess,
  runOnTerminal,
  urlEnvironment,
} from './__testUtils__/runCli';

const databases = createTestDatabases({ versions: 'newest' });

const TENANTS = `
  insert into tenants (tenant_id, tenant_slug, tenant_name) values
    ('00000000-0000-0000-0000-0000000000aa', 'acme', 'ACME'),
    ('00000000-0000-0000-0000-0000000000bb', 'globex', 'Globex');
  insert into entities (tenant_id, entity_ref, entity_kind, entity_name, final_entity, hash)
  select tenant_id, 'a:default/' || i, 'a', i, '{}', ''
    from tenants, generate_series(1, 3) i
   where tenant_slug = 'acme' or (tenant_slug = 'globex' and i = 1);
  insert into relations (tenant_id, originating_entity_id, source_entity_ref, type, target_entity_ref)
  select tenant_id, entity_id, entity_ref, 'a', 'b' from entities where entity_ref = 'a:default/2'`;

// On one version: what asks PostgreSQL is tested on all beside it.
describe.each(databases.eachSupportedId().slice(-1))(
  'the way back on %s',
  id => {
    const database = forEachTest(() =>
      createCatalogDatabase(databases, id, {
        entities: 20,
        phase: 5,
        prepare: async prepared => {
          await prepared.client.query(TENANTS);
        },
      }),
    );

    const run = (...args: string[]) =>
      runInProcess(database.connection, ...args);
    const rowsOf = async (table: string) =>
      (await database.client.query(`select from ${table}`)).rowCount;

    /** Works while a session of the application is connected. */
    async function whileConnected<T>(work: (pid: number) => Promise<T>) {
      return withClient(
        {
          ...(await connectionOf(database, 'portal_app')),
          application_name: 'portal of a test',
        },
        async application => {
          const { rows } = await application.query(
            'select pg_backend_pid() as id',
          );
          return await work(rows[0].id);
        },
      );
    }

    describe('while the application is connected', () => {
      it('is refused with an exit code of its own that names the sessions, unless --force is given', async () => {
        await whileConnected(async pid => {
          // As a process, whose exit code is what a script sees.
          const refused = await runCli(['rollback', '--json'], {
            env: urlEnvironment(database.connection),
          });
          expect(refused.exitCode).toBe(EXIT_CODES.applicationConnected);
          expect(refused.exitCode).toBe(8);
          const { error, phase, undone } = JSON.parse(refused.stdout);
          expect({ phase, undone }).toEqual({ phase: 5, undone: undefined });
          expect(error.name).toBe('ApplicationConnectedError');
          expect(error.message).toMatch(
            new RegExp(
              `- "portal of a test", login portal_app, process ${pid} of the server, from (127\\.0\\.0\\.1|::1), since 20..-..-.. ..:..:.. UTC`,
            ),
          );
          expect(error.message).toContain('Set MULTI_TENANCY_ENABLED to false');
          expect(error.message).toContain('--force');
          await expect(rowsOf('entities')).resolves.toBe(24);

          const before = await catalogSnapshot(database.client);
          await expect(run('rollback', '--dry-run')).resolves.toMatchObject({
            exitCode: 0,
            stdout: expect.stringMatching(
              /^-- Swap the tables\. ACCESS EXCLUSIVE on all /m,
            ),
            stderr: expect.stringContaining(`process ${pid} of the server`),
          });
          expect(await catalogSnapshot(database.client)).toEqual(before);
          await expect(rowsOf('entities')).resolves.toBe(24);

          const forced = await run('rollback', '--force');
          expect(forced).toMatchObject({
            exitCode: 0,
            stdout: expect.stringContaining('Rolled back to phase 4'),
            stderr: expect.stringContaining(`process ${pid} of the server`),
          });
          await expect(rowsOf('entities')).resolves.toBe(20);
        });
      });

      it('is refused where it takes rights from them, and goes on where it takes nothing', async () => {
        await whileConnected(async () => {
          await run('rollback', '--force');
          await expect(run('rollback', '--to', '3')).resolves.toMatchObject({
            exitCode: EXIT_CODES.refused,
            stderr: expect.stringContaining('4 rows of 2 other tenants'),
          });
          await expect(
            run('rollback', '--to', '3', '--force', '--yes'),
          ).resolves.toMatchObject({
            exitCode: 0,
            stderr: expect.not.stringContaining('portal of a test'),
          });
          await expect(run('rollback')).resolves.toMatchObject({
            exitCode: EXIT_CODES.applicationConnected,
            stderr: expect.stringContaining('the rights to its tables'),
          });
        });
        await expect(run('rollback')).resolves.toMatchObject({ exitCode: 0 });
      });
    });

    describe('with --force', () => {
      const LOSSES = [
        '- entities: 4 rows of 2 other tenants (acme 3, globex 1)',
        '- relations: 1 row of 1 other tenant (acme 1)',
      ];

      it('says what will be deleted, and wants --yes where there is no terminal', async () => {
        const refused = await run('rollback', '--to', '0', '--force');
        expect(refused.exitCode).toBe(EXIT_CODES.refused);
        for (const loss of [
          ...LOSSES,
          '- tenants: 2 other tenants (acme, globex)',
        ]) {
          expect(refused.stderr).toContain(loss);
        }
        expect(refused.stderr).toContain('--yes');
        await expect(
          run('rollback', '--to', '0', '--force', '--dry-run'),
        ).resolves.toMatchObject({
          exitCode: 0,
          stderr: expect.stringContaining(LOSSES[0]),
        });
        await expect(rowsOf('entities')).resolves.toBe(24);

        await expect(
          run('rollback', '--to', '4', '--force', '--yes'),
        ).resolves.toMatchObject({
          exitCode: 0,
          stderr: expect.stringContaining(LOSSES[0]),
        });
        await expect(rowsOf('entities')).resolves.toBe(20);
      });

      it('asks on a terminal, and goes on after "yes" alone', async () => {
        const onTerminal = async (answer: string | null) => {
          const { exitCode, stderr } = await runOnTerminal(
            database.connection,
            answer,
            ...['rollback', '--to', '4', '--force'],
          );
          expect(stderr).toContain(LOSSES.join('\n'));
          return exitCode;
        };
        for (const answer of ['no', '', 'y', null]) {
          await expect(onTerminal(answer)).resolves.toBe(EXIT_CODES.refused);
        }
        await expect(rowsOf('entities')).resolves.toBe(24);
        await expect(onTerminal('yes')).resolves.toBe(0);
        await expect(rowsOf('entities')).resolves.toBe(20);
      });
    });

    it('and the status tell the same story', async () => {
      await expect(run('status')).resolves.toMatchObject({
        stdout: expect.stringMatching(
          /^Schema "tenancy": phase 5 is complete\.\nNext: Phase 6: /,
        ),
      });

      const back = await run('rollback');
      const story =
        'Schema "tenancy": phase 4 is complete.\n' +
        'Phase 5 was rolled back: the tables of before are in use, and the partitioned ones are kept to go forward from.\n' +
        `Next: Phase 5: Primary keys and partitions (${operatorCommand(
          'phase5',
        )})`;
      expect(back.stdout.trim().endsWith(story)).toBe(true);
      const status = await run('status');
      expect(
        status.stdout.startsWith(`${story}\nNo operator is at work.\n`),
      ).toBe(true);
      await expect(run('rollback')).resolves.toMatchObject({
        exitCode: 0,
        stdout: `There was nothing to undo.\n${story}\n`,
      });
      const asJson = JSON.parse((await run('status', '--json')).stdout);
      expect(asJson).toMatchObject({
        phase: 4,
        swap: { swapped: false, undone: true },
        rollbackBegun: false,
        next: { command: operatorCommand('phase5') },
      });

      await expect(run('phase5')).resolves.toMatchObject({ exitCode: 0 });
      await expect(rowsOf('entities')).resolves.toBe(24);
      await run('rollback');
      await expect(
        run('rollback', '--to', '4', '--force', '--yes'),
      ).resolves.toMatchObject({ exitCode: 0 });
    });
  },
);
