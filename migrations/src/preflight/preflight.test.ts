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

  it('goes on after a check that fails', async () => {
    const report = await database.migrate(
      ({ context }) => {
        const { executor } = context;
        const failing = Object.create(executor);
        failing.read = (sql: string, values?: unknown[]) =>
          executor.read(
            sql.includes('refresh_state t where') ? 'select 1 / 0' : sql,
            sql.includes('refresh_state t where') ? [] : values,
          );
        return runPreflight(
          { ...context, executor: failing },
          { backupCompleted: true },
        );
      },
      { mode: 'read' },
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
