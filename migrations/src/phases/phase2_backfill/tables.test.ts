import { createTestDatabases } from '@internal/postgres/testUtils';
import { forEachTest } from '../../__testUtils__/forEachTest';
import { createCatalogDatabase } from '../../__testUtils__/catalogDatabase';
import { notNull } from './30_not_null';
import { recordingReporter } from '../../__testUtils__/recordingReporter';
import { rowsWithoutTenant } from './__testUtils__/rowsWithoutTenant';

const databases = createTestDatabases();

describe.each(databases.eachSupportedId())('the backfill on %s', id => {
  const database = forEachTest(() => createCatalogDatabase(databases, id));
  beforeEach(async () => {
    await database.migrate(migration => migration.runPhase(1));
  });

  const runPhase2 = async (batchSize = 50) => {
    const reporter = recordingReporter();
    await database.migrate(migration => migration.runPhase(2), {
      reporter,
      settings: { batchSize },
    });
    return reporter;
  };

  it.each([50, 100_000])(
    'changes twice %s rows in a batch at most',
    async batchSize => {
      const { bars } = await runPhase2(batchSize);
      const advances = bars.flatMap(bar => bar.advances);
      expect(Math.max(...advances)).toBeLessThanOrEqual(2 * batchSize);
      expect(advances.reduce((sum, rows) => sum + rows)).toBe(800);
      await expect(rowsWithoutTenant(database)).resolves.toBe(0);
    },
  );

  it('refuses NOT NULL where a row has lost its tenant since', async () => {
    await runPhase2();
    await database.migrate(migration => migration.undoFrom(notNull));
    await database.client.query(
      `update relations set tenant_id = null where source_entity_ref like '%-7'`,
    );
    await expect(runPhase2()).rejects.toThrow(
      '2 of the 400 rows of relations have no tenant',
    );
    // No constraint stands in the way of whoever writes to those rows.
    await database.client.query(
      `update relations set weight = 2 where tenant_id is null`,
    );
  });
});
