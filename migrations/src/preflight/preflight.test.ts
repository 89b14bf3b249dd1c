import { createTestDatabases } from '@internal/postgres/testUtils';
import { forEachTest } from '../__testUtils__/forEachTest';
import { createCatalogDatabase } from '../__testUtils__/catalogDatabase';
import { createCatalogTables } from '../__testUtils__/seed';
import { runPhases } from '../__testUtils__/runPhases';
import { runPreflight } from './runPreflight';
import { findings, preflight } from './__testUtils__/preflight';

const databases = createTestDatabases();

describe.each(databases.eachSupportedId())('the preflight on %s', id => {
  const database = forEachTest(() =>
    createCatalogDatabase(databases, id, { entities: 20 }),
  );

  it('passes a seeded catalog', async () => {
    const report = await preflight(database);
    expect(findings(report, 'failure')).toEqual([]);
    expect(findings(report, 'warning')).toEqual([
      expect.objectContaining({ check: 'pg_cron' }),
    ]);
  });

  /** The report where queries are answered as others. */
  const preflightOf = (change: (sql: string) => string) =>
    database.migrate(
      ({ context }) => {
        const executor = Object.create(context.executor);
        executor.read = (sql: string, values?: unknown[]) =>
          context.executor.read(change(sql), values);
        return runPreflight(
          { ...context, executor },
          { backupCompleted: true },
        );
      },
      { mode: 'read' },
    );

  it('goes on after a check that fails', async () => {
    const report = await preflightOf(sql =>
      sql.replaceAll(
        'from refresh_state t where',
        'from refresh_state t where 1 / 0 > 0 and',
      ),
    );
    expect(findings(report, 'failure')).toEqual([
      expect.objectContaining({
        check: 'rows',
        message: 'This could not be looked at: division by zero',
      }),
    ]);
    expect(findings(report, 'ok', 'publications')).toHaveLength(1);
  });

  it('lists every failure at once', async () => {
    await database.client.query(
      `create rule silent as on delete to relations do instead nothing;
       create materialized view kinds as select entity_kind from entities`,
    );
    const report = await preflight(database, {
      options: { backupCompleted: false },
    });
    expect(findings(report, 'failure')).toEqual([
      expect.objectContaining({
        check: 'backup',
        advice: expect.stringContaining('--backup-completed'),
      }),
      expect.objectContaining({
        check: 'dependents',
        sql: 'drop materialized view tenancy.kinds;\ndrop rule silent on relations;',
      }),
    ]);
  });

  it('refuses a server that is too old', async () => {
    const report = await preflightOf(sql =>
      // What is asked of publications differs from version to version.
      sql.includes('pg_publication')
        ? sql
        : sql.replaceAll(
            "current_setting('server_version_num')::int",
            '130022',
          ),
    );
    expect(findings(report, 'failure').map(({ check }) => check)).toEqual([
      'server version',
    ]);
  });

  it('refuses rows without their entity, which are deleted as it says', async () => {
    await database.client.query(
      `set session_replication_role = replica;
       delete from entities where entity_name <= 'service-12';
       reset session_replication_role`,
    );
    const found = findings(await preflight(database), 'failure');
    expect(found).toEqual([
      expect.objectContaining({
        check: 'rows',
        message: expect.stringMatching(
          /^The entity of rows of relations is missing: /,
        ),
        details: Array(4).fill(expect.stringMatching(/^[0-9a-f-]{36}$/)),
      }),
      expect.objectContaining({
        message: expect.stringMatching(/^The entity of rows of refresh_state /),
      }),
    ]);
    for (const { sql } of found) {
      await database.client.query(sql!);
    }
    expect(findings(await preflight(database), 'failure')).toEqual([]);
    const { rows } = await database.client.query(
      'select count(*)::int as left from refresh_state',
    );
    expect(rows).toEqual([{ left: 16 }]);
  });

  it('refuses rows that break the rule of references, and puts right what can be', async () => {
    await database.client.query(
      `update entities set entity_kind = 'Component', entity_namespace = ''
        where entity_name = 'service-1';
       update entities set entity_ref = 'user:a/b/c:d' where entity_name = 'service-2';
       update entities set entity_ref = 'no reference' where entity_name = 'service-3'`,
    );
    const [broken] = findings(await preflight(database), 'failure');
    expect(broken).toMatchObject({
      check: 'rows',
      message: expect.stringMatching(
        /^Rows of entities have an entity_ref that .*: component:default\/service-1 \(of Component:\/service-1\), /,
      ),
    });
    const [update, list] = broken.sql!.split(';\n');
    await database.client.query(update);
    const { rows } = await database.client.query(list);
    expect(rows).toEqual([
      expect.objectContaining({ entity_ref: 'no reference' }),
    ]);
    const mended = await database.client.query(
      `select entity_kind as kind, entity_namespace as namespace, entity_name as name
         from entities where entity_ref like 'user:%'`,
    );
    expect(mended.rows).toEqual([
      { kind: 'user', namespace: 'a', name: 'b/c:d' },
    ]);
    const [left] = findings(await preflight(database), 'failure');
    expect(left.message).toMatch(/: no reference \(of [^,]*$/);
  });

  it('refuses rows without a required value', async () => {
    await database.client.query(
      `alter table entities alter hash drop not null;
       update entities set hash = null where deleted_at is not null`,
    );
    expect(findings(await preflight(database), 'failure')).toEqual([
      expect.objectContaining({
        check: 'rows',
        message: expect.stringMatching(
          /^Rows of entities lack a required value: [0-9a-f-]{36} \(hash\)\.$/,
        ),
      }),
    ]);
  });

  it.each([2, 4, 5] as const)('passes after phase %s', async phase => {
    await runPhases(database, phase);
    const report = await preflight(database);
    expect(findings(report, 'failure')).toEqual([]);
  });
});

describe.each(databases.eachSupportedId())('without tables on %s', id => {
  const database = forEachTest(() =>
    createCatalogDatabase(databases, id, { seed: false }),
  );

  it('the preflight passes, and asks for no backup', async () => {
    const report = await preflight(database, {
      options: { backupCompleted: false },
    });
    expect(findings(report, 'failure')).toEqual([]);
    expect(findings(report, 'ok', 'tables')[0].message).toMatch(
      /a fresh database/,
    );
  });

  it('empty tables need no backup', async () => {
    await createCatalogTables(database.client);
    const report = await preflight(database, {
      options: { backupCompleted: false },
    });
    expect(findings(report, 'failure')).toEqual([]);
  });
});
