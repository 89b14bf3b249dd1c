import { createTestDatabases } from '@internal/postgres/testUtils';
import { forEachTest } from '../__testUtils__/forEachTest';
import { createCatalogDatabase } from '../__testUtils__/catalogDatabase';
import { createCatalogTables } from '../__testUtils__/seed';
import { createStockCatalog } from '../adopt/__testUtils__/stockCatalog';
import { runInProcess } from '../cli/__testUtils__/runCli';
import { EXIT_CODES } from '../errors';
import { migrateTo } from '../migrateTo';
import { operatorCommand } from '../operatorCommand';

const databases = createTestDatabases({ versions: 'newest' });

const PREFLIGHT = ['--backup-completed'];
const ADOPT = operatorCommand('adopt');

describe.each(databases.eachSupportedId())(
  'beside a stock catalog that is not adopted, on %s',
  id => {
    const catalog = forEachTest(() => createStockCatalog(databases, id));
    beforeEach(async () => {
      await catalog.engine.ingest({ ref: 'component:default/a' });
      await catalog.engine.ingest({ ref: 'component:default/b' });
    });

    const run = async (...args: string[]) => {
      const result = await runInProcess(catalog.connection, ...args);
      return { ...result, text: result.stdout + result.stderr };
    };
    const nextOf = async () =>
      JSON.parse((await run('status', '--json')).stdout).next;
    const schemaExists = async () => {
      const { rows } = await catalog.client.query(
        `select to_regnamespace('tenancy') is not null as found`,
      );
      return rows[0].found;
    };

    it('the status names its adoption', async () => {
      await expect(nextOf()).resolves.toEqual({
        what: 'Adopt the stock catalog in the schema "public", with 2 entities',
        command: ADOPT,
      });
    });

    it('the preflight says that tables are created beside it, and names its adoption', async () => {
      const { exitCode, stdout } = await run('preflight', ...PREFLIGHT);
      expect(exitCode).toBe(EXIT_CODES.done);
      expect(stdout).toMatch(
        /^ok +tables: .* created beside the stock catalog in the schema "public", with 2 entities\.$/m,
      );
      expect(stdout).toContain(`Next: ${ADOPT}.`);
    });

    it('the phases create the tables empty, which the adoption would do, too', async () => {
      await run('phase1', ...PREFLIGHT);
      await expect(nextOf()).resolves.toMatchObject({ command: ADOPT });
      for (const phase of ['phase2', 'phase3', 'phase4', 'phase5']) {
        const { exitCode, stdout } = await run(phase);
        expect(exitCode).toBe(EXIT_CODES.done);
        expect(stdout).not.toMatch(/deploy|new application/);
      }
      await expect(nextOf()).resolves.toMatchObject({ command: ADOPT });
      await expect(run('adopt')).resolves.toMatchObject({
        exitCode: EXIT_CODES.done,
        stdout: expect.stringContaining(operatorCommand('phase6')),
      });
    });

    it('the library refuses before it does anything', async () => {
      await expect(
        migrateTo(1, { connection: catalog.connection }),
      ).rejects.toMatchObject({
        name: 'RefusedError',
        message: expect.stringContaining(ADOPT),
      });
      await expect(schemaExists()).resolves.toBe(false);
    });

    it('an adoption that is not complete is brought to its end first', async () => {
      await run('adopt');
      await catalog.client.query(
        'alter table public.relations disable trigger tenancy_adoption_insert',
      );
      await expect(nextOf()).resolves.toEqual({
        what: 'Bring the adoption of the stock catalog in the schema "public", with 2 entities, to its end',
        command: ADOPT,
      });
    });

    it('a catalog that the schema has of its own is migrated first', async () => {
      await createCatalogTables(catalog.client);
      await expect(nextOf()).resolves.toMatchObject({
        command: operatorCommand('phase1'),
      });
      await expect(run('adopt')).resolves.toMatchObject({
        exitCode: EXIT_CODES.refused,
        stderr: expect.stringContaining(operatorCommand('phase1')),
      });
      await migrateTo(5, { connection: catalog.connection, force: true });
      await expect(nextOf()).resolves.toMatchObject({ command: ADOPT });
      await expect(run('adopt')).resolves.toMatchObject({
        exitCode: EXIT_CODES.done,
      });
    });

    it('a login that may not read it is told the same', async () => {
      const login = `next_reader_${process.pid}_${id.toLowerCase()}`;
      await catalog.client.query(
        `analyze public.final_entities;
         create role ${login} login password 'for-tests-only'`,
      );
      const { stdout } = await runInProcess(
        { ...catalog.connection, user: login, password: 'for-tests-only' },
        'status',
        '--json',
      );
      await catalog.client.query(`drop role ${login}`);
      expect(JSON.parse(stdout).next).toEqual({
        what: 'Adopt the stock catalog in the schema "public", with 2 entities',
        command: ADOPT,
      });
    });
  },
);

describe.each(databases.eachSupportedId())(
  'without a stock catalog, on %s',
  id => {
    const database = forEachTest(() =>
      createCatalogDatabase(databases, id, { seed: false }),
    );

    const run = (...args: string[]) =>
      runInProcess(database.connection, ...args);
    const expectNext = async (command: string) => {
      const status = await run('status', '--json');
      expect(JSON.parse(status.stdout).next).toMatchObject({ command });
      const { exitCode, stderr } = await run('phase1', ...PREFLIGHT);
      expect(exitCode).toBe(EXIT_CODES.refused);
      expect(stderr).not.toContain('42P01');
      const { rows } = await database.client.query(
        `select to_regclass('tenancy.tenants') is null as untouched`,
      );
      expect(rows).toEqual([{ untouched: true }]);
      return stderr;
    };

    it('a database without tables gets them by "all", and phase 1 refuses it', async () => {
      await expect(expectNext(operatorCommand('all'))).resolves.toContain(
        'The schema "tenancy" has no entities, relations, refresh_state',
      );
      const preflight = await run('preflight', ...PREFLIGHT);
      expect(preflight.stdout).toContain(`Next: ${operatorCommand('all')}`);
    });

    it('the schema is to be named where it has only some of the tables', async () => {
      await createCatalogTables(database.client);
      await database.client.query('drop table refresh_state');
      await expect(
        expectNext(operatorCommand('status', '--schema <name>')),
      ).resolves.toContain('no refresh_state');
    });
  },
);
