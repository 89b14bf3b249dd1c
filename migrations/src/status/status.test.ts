import { createTestDatabases } from '@internal/postgres/testUtils';
import { forEachTest } from '../__testUtils__/forEachTest';
import { createCatalogDatabase } from '../__testUtils__/catalogDatabase';
import { cleanup } from '../cleanup/cleanup';
import { backfill } from '../phases/phase2_backfill/20_backfill';
import { readStatus } from './readStatus';
import { renderStatus } from '../cli/commands/status';
import type { StatusReport } from './readStatus';

const databases = createTestDatabases();
const DAY_MS = 86_400_000;

describe.each(databases.eachSupportedId())('the status on %s', id => {
  const database = forEachTest(() => createCatalogDatabase(databases, id));

  const read = (): Promise<StatusReport> =>
    database.migrate(readStatus, { mode: 'read' });

  it('tells that nothing has begun', async () => {
    const status = await read();
    expect(status).toMatchObject({
      schema: 'tenancy',
      phase: 0,
      phaseBegun: null,
      rollbackBegun: false,
      next: { command: 'npx backstage-catalog-tenancy-cli phase1' },
      operator: null,
      swap: { swapped: false, undone: false, swappedAt: null, oldTables: [] },
      tables: ['entities', 'relations', 'refresh_state'],
    });
    expect(renderStatus(status)).toContain('no phase is complete');
  });

  it('tells the steps that are done with their time, and what is temporary', async () => {
    await database.migrate(migration => migration.runPhase(1));
    // Of somebody else.
    await database.client.query('create table tenancy.entities_old (id int)');
    const status = await read();
    expect(status).toMatchObject({
      phase: 1,
      swap: { oldTables: [] },
      phaseBegun: null,
      next: { command: 'npx backstage-catalog-tenancy-cli phase2' },
    });
    expect(status.steps).toContainEqual({
      name: '1_10_tenants_table',
      title: 'Create the table tenants',
      phase: 1,
      doneAt: expect.any(Date),
    });
  });

  it('tells which phase has begun', async () => {
    await database.migrate(async migration => {
      await migration.runPhase(1);
      await migration.runPhase(2);
      await migration.undoFrom(backfill);
    });
    const status = await read();
    expect(status).toMatchObject({ phase: 1, phaseBegun: 2 });
    expect(renderStatus(status)).toContain('Phase 2 has begun.');
  });

  it('tells since when the tables are swapped, and when the old ones may go', async () => {
    await database.client.query('create extension pg_trgm schema public');
    await database.migrate(async migration => {
      for (const number of [1, 2, 3, 4, 5] as const) {
        await migration.runPhase(number);
      }
    });
    const status = await read();
    const { swap } = status;
    expect(swap).toMatchObject({
      swapped: true,
      oldTables: ['entities_old', 'relations_old', 'refresh_state_old'],
    });
    expect(swap.cleanupFrom!.getTime() - swap.swappedAt!.getTime()).toBe(
      DAY_MS,
    );
    expect(status.tables).toContain('tenancy_change_log');
    expect(status.next.command).toContain('phase6');
    expect(renderStatus(status)).toContain('Cleanup may drop them from');
    await database.migrate(migration => cleanup(migration.context), {
      settings: { force: true },
    });
    const after = await read();
    expect(after.swap).toMatchObject({ swapped: true, oldTables: [] });
    expect(after.next.command).toContain('phase6');
  });
});
