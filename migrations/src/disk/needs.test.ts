import { createTestDatabases } from '@internal/postgres/testUtils';
import { createCatalogDatabase } from '../__testUtils__/catalogDatabase';
import type { CatalogDatabase } from '../__testUtils__/catalogDatabase';
import { runPhases } from '../__testUtils__/runPhases';
import { estimateNeeds, readStage } from './needs';
import type { DiskNeed } from './needs';

const databases = createTestDatabases();

// Entities as they are seeded, of a hundred bytes and few terms, and of the size of an API
// with its definition, of 40 kB and some hundred terms.
const SHAPES: [shape: string, entities: number, statements: string[]][] = [
  ['small', 3000, []],
  [
    'large',
    300,
    [
      `update entities set final_entity = final_entity || jsonb_build_object('spec', jsonb_build_object(
         'definition', (select string_agg(md5(entity_ref || i), ' ') from generate_series(1, 1000) i),
         'consumers', (select jsonb_agg(format('component:default/%s-%s', entity_name, i)) from generate_series(1, 200) i)))`,
      'vacuum full entities',
    ],
  ],
];

describe.each(databases.eachSupportedId())('the disk on %s', id => {
  let database: CatalogDatabase;
  afterEach(() => database?.close());

  const size = async () => {
    const { rows } = await database.client.query<{ size: number }>(
      `select pg_database_size(current_database())::float8 as size`,
    );
    return rows[0].size;
  };

  const estimate = (phase: number) =>
    database.migrate(
      async ({ context: { executor } }) =>
        estimateNeeds(executor, await readStage(executor, phase)),
      { mode: 'read' },
    );

  /** What stays, and can be measured in the end. */
  const kept = (needs: DiskNeed[]) =>
    needs
      .filter(({ what }) => !/sorting|log/.test(what))
      .reduce((sum, { bytes }) => sum + bytes, 0);

  it.each(SHAPES)(
    'is estimated from a sample of %s entities',
    async (_, entities, statements) => {
      database = await createCatalogDatabase(databases, id, { entities });
      for (const statement of statements) {
        await database.client.query(statement);
      }
      await database.client.query('vacuum (analyze)');
      const needed = kept(await estimate(0));
      const before = await size();
      await runPhases(database, 5, { settings: { batchSize: 2000 } });
      const grown = (await size()) - before;
      // More than is needed, but not by much: PostgreSQL takes pages as a whole.
      expect(needed / grown).toBeGreaterThan(0.95);
      expect(needed / grown).toBeLessThan(1.5);
      expect(kept(await estimate(5))).toBeLessThan(needed / 10);
    },
  );

  it('has the log counted as a whole where a standby is away that needs it', async () => {
    database = await createCatalogDatabase(databases, id, { entities: 2000 });
    const log = async () =>
      (await estimate(0)).find(({ what }) => /log/.test(what))!.bytes;
    const slot = `away_${process.pid}_${Date.now()}`;
    await database.client.query(
      `select pg_create_physical_replication_slot($1, true)`,
      [slot],
    );
    try {
      expect(await log()).toBeGreaterThan(kept(await estimate(0)));
    } finally {
      await database.client.query('select pg_drop_replication_slot($1)', [
        slot,
      ]);
    }
  });
});
