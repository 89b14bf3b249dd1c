import { createTestDatabases } from '@internal/postgres/testUtils';
import { forEachTest } from '../../__testUtils__/forEachTest';
import { createCatalogDatabase } from '../../__testUtils__/catalogDatabase';
import { recordingReporter } from '../../__testUtils__/recordingReporter';
import type { RecordingReporter } from '../../__testUtils__/recordingReporter';
import { notNull } from './30_not_null';
import { rowsWithoutTenant } from './__testUtils__/rowsWithoutTenant';

const databases = createTestDatabases();

const ENTITIES = 1000;

describe.each(databases.eachSupportedId())('the backfill on %s', id => {
  const database = forEachTest(() =>
    createCatalogDatabase(databases, id, {
      entities: ENTITIES,
    }),
  );
  beforeEach(async () => {
    await database.migrate(migration => migration.runPhase(1));
  });

  const runPhase2 = (reporter: RecordingReporter, batchSize = 10) =>
    database.migrate(migration => migration.runPhase(2), {
      reporter,
      settings: { batchSize },
    });

  /** A reporter that ends the command, the server still running, at a batch. */
  const stopAfter = (batches: number) =>
    recordingReporter({
      onAdvance: (_, count) => {
        if (count === batches) {
          throw new Error('stopped');
        }
      },
    });

  const readCursor = async () => {
    const { rows } = await database.client.query(
      `select value from tenancy_migration_state where key = 'phase2.cursor.entities'`,
    );
    return rows[0].value as { next: number; end: number };
  };

  const expectDone = async () => {
    await expect(rowsWithoutTenant(database)).resolves.toBe(0);
    await expect(
      database.migrate(migration => migration.completedPhase()),
    ).resolves.toBe(2);
  };

  it('goes on from its cursor, with nothing left behind', async () => {
    const first = stopAfter(4);
    await expect(runPhase2(first, 100)).rejects.toThrow('stopped');
    const filled = first.bars[0].advances.reduce((sum, rows) => sum + rows);
    await expect(rowsWithoutTenant(database, 'entities')).resolves.toBe(
      ENTITIES - filled,
    );
    const { next } = await readCursor();
    const { rows } = await database.client.query(
      `select min((ctid::text::point)[0])::int as first from entities where tenant_id is null`,
    );
    expect(rows).toEqual([{ first: next }]);
    const second = recordingReporter();
    await runPhase2(second, 100);
    const [{ total, advances }] = second.bars;
    // Estimated by statistics, which autovacuum may have made in between.
    expect(total).toBeLessThan(first.bars[0].total);
    expect(advances.reduce((sum, each) => sum + each)).toBe(ENTITIES - filled);
    // Batches that find nothing would come first, had it begun again.
    expect(advances[0]).toBeGreaterThan(0);
    await expectDone();
  });

  it('finds the rows that a VACUUM FULL has moved in between', async () => {
    await expect(runPhase2(stopAfter(10))).rejects.toThrow('stopped');
    await database.client.query('vacuum full entities');
    await runPhase2(recordingReporter());
    await expectDone();
  });

  it('finds the rows that were moved to pages behind its cursor, or past its end', async () => {
    await expect(runPhase2(stopAfter(10))).rejects.toThrow('stopped');
    const { next, end } = await readCursor();
    await database.client.query('vacuum entities');
    await database.client.query(
      'update entities set stitch_ticket = repeat(hash, 10) where tenant_id is null',
    );
    const { rows } = await database.client.query(
      `select count(*) filter (where ctid < '(${next},0)') > 0 as behind,
              count(*) filter (where ctid >= '(${end},0)') > 0 as past
         from entities where tenant_id is null`,
    );
    expect(rows).toEqual([{ behind: true, past: true }]);
    await runPhase2(recordingReporter());
    await expectDone();
  });

  it.each([50, 100_000])(
    'changes twice %s rows in a batch at most',
    async batchSize => {
      const reporter = recordingReporter();
      await runPhase2(reporter, batchSize);
      const { bars } = reporter;
      const advances = bars.flatMap(bar => bar.advances);
      expect(Math.max(...advances)).toBeLessThanOrEqual(2 * batchSize);
      expect(advances.reduce((sum, rows) => sum + rows)).toBe(4 * ENTITIES);
      await expect(rowsWithoutTenant(database)).resolves.toBe(0);
    },
  );

  it('refuses NOT NULL where a row has lost its tenant since', async () => {
    await runPhase2(recordingReporter());
    await database.migrate(migration => migration.undoFrom(notNull));
    await database.client.query(
      `update relations set tenant_id = null where source_entity_ref like '%-7'`,
    );
    await expect(runPhase2(recordingReporter())).rejects.toThrow(
      '2 of the 2,000 rows of relations have no tenant',
    );
    // No constraint stands in the way of whoever writes to those rows.
    await database.client.query(
      `update relations set weight = 2 where tenant_id is null`,
    );
  });
});
