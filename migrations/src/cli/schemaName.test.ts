import { createTestDatabases } from '@internal/postgres/testUtils';
import { forEachTest } from '../__testUtils__/forEachTest';
import { createStockCatalog } from '../adopt/__testUtils__/stockCatalog';
import { TestApplication } from '../phases/phase6_cutover/__testUtils__/TestApplication';
import { escapeIdentifier } from '../sql';
import { runInProcess } from './__testUtils__/runCli';

const databases = createTestDatabases({ versions: 'newest' });
const PREFLIGHT = ['--backup-completed'];

describe.each(['MyCat', 'My "Cat"'])('a schema called %s', schema => {
  const catalog = forEachTest(() =>
    createStockCatalog(databases, databases.eachSupportedId().slice(-1)[0][0]),
  );
  beforeEach(async () => {
    await catalog.engine.ingest({
      ref: 'component:default/a',
      relations: [['ownedBy', 'group:default/g']],
    });
  });

  /** Runs a command that must succeed, after its dry run where it has one. */
  const run = async (...args: string[]) => {
    const { exitCode, stdout, stderr } = await runInProcess(
      catalog.connection,
      ...args,
      ...['--schema', schema, '--json'],
    );
    expect([args[0], exitCode, exitCode ? stderr : '']).toEqual([
      args[0],
      0,
      '',
    ]);
    return JSON.parse(stdout);
  };
  const change = async (...args: string[]) => {
    await run(...args, '--dry-run');
    return run(...args);
  };

  it('is served by every command, all the way and back', async () => {
    const { client } = catalog;
    await run('preflight', ...PREFLIGHT);
    await change('phase1', ...PREFLIGHT);
    for (const command of ['phase2', 'phase3', 'phase4', 'phase5', 'adopt']) {
      await change(command);
    }
    await client.query(
      `set search_path = ${escapeIdentifier(schema)};
       insert into tenants (tenant_slug, tenant_name) values ('acme', 'Acme');
       insert into entities (tenant_id, entity_ref, entity_kind, entity_namespace, entity_name, final_entity, hash)
       select tenant_id, 'component:default/b', 'component', 'default', 'b', '{}', '' from tenants
        where tenant_slug = 'acme'`,
    );
    await change('partition', 'acme');
    expect(await run('verify')).toMatchObject({ phase: 5 });
    await change('unpartition', 'acme');
    const application = new TestApplication(client);
    try {
      await application.start();
      await change('phase6', '--base-url', application.baseUrl);
    } finally {
      await application.close();
    }
    expect(await run('status')).toMatchObject({
      phase: 6,
      adoption: { adopted: true },
    });
    await run('verify');
    await change('rollback', '--to', '0', '--force', '--yes');
    const { rows } = await client.query(
      'select 1 from pg_namespace where nspname = $1',
      [schema],
    );
    expect(rows).toEqual([]);
  });

  it('is made on a fresh database, and dropped', async () => {
    await catalog.client.query(
      'drop schema public cascade; create schema public',
    );
    await change('all');
    await run('verify');
    await change('rollback', '--to', '0');
    expect(await run('status')).toMatchObject({ phase: 0 });
  });
});
