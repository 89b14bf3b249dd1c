import { createTestDatabases } from '@internal/postgres/testUtils';
import { forEachTest } from '../__testUtils__/forEachTest';
import { runInProcess, runOnTerminal } from '../cli/__testUtils__/runCli';
import { EXIT_CODES } from '../errors';
import { migrateTo } from '../migrateTo';
import { refsOf } from './__testUtils__/inspect';
import { createStockCatalog } from './__testUtils__/stockCatalog';
import { adopt } from './library';

const databases = createTestDatabases({ versions: 'newest' });

describe('the commands', () => {
  const catalog = forEachTest(() =>
    createStockCatalog(databases, 'POSTGRES_18'),
  );

  it('print what they would do, and change nothing', async () => {
    const { connection, engine, client } = catalog;
    await engine.ingest({ ref: 'component:default/a' });
    const dryRun = async (command: string, stdout: RegExp) =>
      expect(
        runInProcess(connection, ...command.split(' '), '--dry-run'),
      ).resolves.toMatchObject({
        exitCode: 0,
        stdout: expect.stringMatching(stdout),
      });
    const triggers = async () => {
      const { rows } = await client.query(
        `select count(*)::int as count from pg_trigger where tgname ~ '^tenancy_adoption'`,
      );
      return rows[0].count;
    };
    await dryRun('adopt', /create table .*tenants \([^]*tenant_id/);
    const { rows } = await client.query(
      `select to_regnamespace('tenancy') is null as nothing`,
    );
    expect(rows).toEqual([{ nothing: true }]);
    await migrateTo(5, { connection, createTables: true });
    await dryRun(
      'adopt',
      /^-- Carry the changes of .* SHARE ROW EXCLUSIVE [^]*trigger tenancy_adoption[^]*adoption_copy\(/m,
    );
    expect(await triggers()).toBe(0);
    await adopt({ connection });
    const installed = await triggers();
    for (const command of ['unadopt', 'rollback --to 0']) {
      await dryRun(
        command,
        /^-- Carry the changes of .* no more\. ACCESS EXCLUSIVE [^]*drop trigger if exists tenancy_adoption/m,
      );
    }
    // No application is there, which a request would notice.
    await dryRun('phase6 --base-url http://127.0.0.1:1', /^-- Send GET /m);
    expect(await triggers()).toBe(installed);
    expect(await refsOf(catalog)).toEqual(['component:default/a']);
  });

  it('adopt, tell how it stands, verify, and undo', async () => {
    const { connection, engine, client } = catalog;
    await engine.ingest({ ref: 'component:default/a' });
    await engine.ingest({ ref: 'no ref' });
    const runHere = (...args: string[]) => runInProcess(connection, ...args);
    const run = async (...args: string[]) => {
      const { exitCode, stdout, stderr } = await runHere(...args, '--json');
      return { exitCode, stderr, ...JSON.parse(stdout) };
    };
    await expect(
      run('adopt', '--catalog-schema', 'nowhere'),
    ).resolves.toMatchObject({
      exitCode: EXIT_CODES.refused,
      stderr: expect.stringContaining('"nowhere"'),
    });
    await expect(run('status')).resolves.toMatchObject({
      adoption: { begun: false, engineTables: true, engineEntities: 2 },
    });
    await expect(run('adopt')).resolves.toMatchObject({
      exitCode: 0,
      phase: 5,
      adoption: {
        adopted: true,
        faults: 1,
        latestFaults: [{ source: 'final_entities' }],
      },
    });
    const status = await runHere('status');
    expect(status.stdout).toContain(
      'The stock catalog in the schema "public" is adopted: its 2 entities',
    );
    expect(status.stdout).toContain('could not be carried');
    expect(status.stdout).toContain(
      'the entity_ref "no ref" is not of the form kind:namespace/name',
    );
    await expect(run('verify')).resolves.toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining('could not be carried'),
    });
    await client.query(`update entities set hash = 'other'`);
    await expect(run('verify')).resolves.toMatchObject({
      exitCode: EXIT_CODES.verificationFailed,
      stderr: expect.stringContaining(
        'entities of the default tenant differs from the stock catalog',
      ),
    });
    await client.query(
      'alter table public.relations disable trigger tenancy_adoption_insert',
    );
    await expect(run('status')).resolves.toMatchObject({
      adoption: { adopted: false, tablesWithoutTriggers: ['relations'] },
    });
    await run('adopt');
    await expect(run('verify')).resolves.toMatchObject({ exitCode: 0 });
    await expect(run('unadopt')).resolves.toMatchObject({
      exitCode: 0,
      changed: true,
    });
    await expect(run('unadopt')).resolves.toMatchObject({
      exitCode: 0,
      changed: false,
    });
  });

  it('say which entities an adoption deletes, and delete none before they were told to', async () => {
    const { connection, engine, client } = catalog;
    await engine.ingest({ ref: 'component:default/a' });
    await migrateTo(5, { connection, createTables: true });
    await client.query(
      `insert into entities (tenant_id, entity_ref, entity_kind, entity_name, final_entity, hash)
       values ('00000000-0000-0000-0000-000000000001', 'component:default/own', 'component', 'own', '{}', '')`,
    );
    const loss =
      '- entities: 1 entity of the default tenant, which the catalog does not have';
    await expect(
      runInProcess(connection, 'adopt', '--force'),
    ).resolves.toMatchObject({
      exitCode: EXIT_CODES.refused,
      stderr: expect.stringContaining(loss),
    });
    await expect(
      runOnTerminal(connection, 'no', 'adopt', '--force'),
    ).resolves.toMatchObject({ exitCode: EXIT_CODES.refused });
    const refs = async () =>
      (await client.query('select entity_ref from entities')).rows;
    expect(await refs()).toEqual([{ entity_ref: 'component:default/own' }]);
    await expect(
      runInProcess(connection, 'adopt', '--force', '--yes'),
    ).resolves.toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining(loss),
    });
    expect(await refs()).toEqual([{ entity_ref: 'component:default/a' }]);
  });
});
