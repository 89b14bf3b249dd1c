import { createTestDatabases, eventually } from '@internal/postgres/testUtils';
import { createCatalogDatabase } from '../../__testUtils__/catalogDatabase';
import { runPhases } from '../../__testUtils__/runPhases';
import { runInProcess } from '../__testUtils__/runCli';
import type { PhaseNumber } from '../../engine/Step';
import { estimateRows, expectation } from './guidance';
import type { RowCounts } from './guidance';

const databases = createTestDatabases({ versions: 'newest' });

describe('what is said of a phase that begins', () => {
  // The databases of the runbook, whose phases took 7, 16, 83 and 108 s: the last
  // without the tables that entities are searched by.
  it.each<[PhaseNumber, RowCounts, string]>([
    [2, { entities: 40_000, others: 160_000 }, '4 to 22 s for about 200,000'],
    [5, { entities: 40_000, others: 160_000 }, '16 to 82 s for about 200,000'],
    [2, { entities: 1e6, others: 4e6 }, '1 to 8 min for about 5,000,000'],
    [5, { entities: 1e6, others: 4e6 }, '6 to 31 min for about 5,000,000'],
    [5, { entities: 1e7, others: 4e7 }, '1 to 6 h for about 50,000,000'],
  ])('is an estimate for phase %s with %j', (number, rows, expected) => {
    expect(expectation(number, rows)).toContain(`${expected} rows; `);
  });

  it.each([1, 2, 3, 4, 5] as const)(
    'promises no minutes for phase %s of a small catalog',
    number => {
      const text = expectation(number, { entities: 402, others: 1206 });
      expect(text).toMatch(/^a few seconds for about 1,608 rows/);
      expect(text).not.toMatch(/min|hour/);
    },
  );
});

describe.each(databases.eachSupportedId())('the rows on %s', id => {
  it('are those of the tables, also where these were never analysed, or are partitioned', async () => {
    const database = await createCatalogDatabase(databases, id, {
      entities: 1000,
    });
    const count = () =>
      database.migrate(({ context }) => estimateRows(context), {
        mode: 'read',
      });
    const expectAbout = async (tolerance: number) => {
      const { entities, others } = await count();
      expect(Math.abs(entities - 1000)).toBeLessThanOrEqual(1000 * tolerance);
      expect(Math.abs(others - 3000)).toBeLessThanOrEqual(3000 * tolerance);
    };
    // Again where an autovacuum at the same time has left an estimate of its own.
    const expectAnalysed = () =>
      eventually(async () => {
        await database.client.query('analyze');
        await expectAbout(0.01);
      });
    // The planner goes by the number of pages.
    await expectAbout(0.9);
    await expectAnalysed();
    await runPhases(database, 5);
    await expectAnalysed();
    await database.close();
  });

  it('are none in a fresh database', async () => {
    const database = await createCatalogDatabase(databases, id, {
      seed: false,
    });
    const { stderr } = await runInProcess(
      database.connection,
      'all',
      '--allow-missing',
      'pg_cron',
    );
    expect(stderr).toContain('(a few seconds for about 0 rows; no downtime)');
    expect(stderr).not.toMatch(/\d+-\d+ min/);
    await database.close();
  });
});
