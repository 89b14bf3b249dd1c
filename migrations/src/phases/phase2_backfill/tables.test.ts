import { createTestDatabases } from '@internal/postgres/testUtils';
import { createCatalogDatabase } from '../../__testUtils__/catalogDatabase';
import type { CatalogDatabase } from '../../__testUtils__/catalogDatabase';
import { backfill } from './20_backfill';
import { notNull } from './30_not_null';
import { VerificationError } from '../../errors';
import { recordingReporter } from './__testUtils__/recordingReporter';
import { rowsWithoutTenant } from './__testUtils__/rowsWithoutTenant';

const databases = createTestDatabases();

describe.each(databases.eachSupportedId())('the backfill on %s', id => {
  let database: CatalogDatabase;
  beforeEach(async () => {
    database = await createCatalogDatabase(databases, id);
    await database.migrate(migration => migration.runPhase(1));
  });
  afterEach(() => database.close());

  const runPhase2 = async (batchSize = 50) => {
    const reporter = recordingReporter();
    await database.migrate(migration => migration.runPhase(2), {
      reporter,
      settings: { batchSize },
    });
    return reporter;
  };

  /** A trigger of updates that fires in a backfill as well. */
  const createTrigger = async (body: string, rows = 'service-7') => {
    await database.client.query(
      `create function stubborn() returns trigger language plpgsql as $$
         begin ${body} end $$;
       create trigger stubborn before update on entities
         for each row when (old.entity_name like '${rows}')
         execute function stubborn();
       alter table entities enable always trigger stubborn`,
    );
  };

  it('has nothing to do in empty tables', async () => {
    await database.client.query('truncate entities cascade');
    const { bars } = await runPhase2();
    expect(bars.map(({ advances }) => advances)).toEqual([[], [], []]);
  });

  it.each([1, 3, 50, 100_000])(
    'changes %s rows in a batch at most',
    async batchSize => {
      const { bars } = await runPhase2(batchSize);
      const advances = bars.flatMap(bar => bar.advances);
      expect(Math.max(...advances)).toBeLessThanOrEqual(batchSize);
      expect(advances.reduce((sum, rows) => sum + rows)).toBe(800);
      await expect(rowsWithoutTenant(database)).resolves.toBe(0);
    },
  );

  it('hurries over pages that are empty, and keeps to its batches after them', async () => {
    await database.client.query(
      `insert into relations (originating_entity_id, source_entity_ref, type, target_entity_ref)
       select entity_id, entity_ref, 'filler', repeat('x', 100) from entities, generate_series(1, 200)`,
    );
    await database.client.query(
      `insert into relations (originating_entity_id, source_entity_ref, type, target_entity_ref, tenant_id)
       select entity_id, entity_ref, 'last', 'x', null from entities`,
    );
    await database.client.query(`delete from relations where type = 'filler'`);
    await database.client.query('vacuum relations');
    const { bars } = await runPhase2(50);
    const { advances } = bars[1];
    expect(advances.reduce((sum, rows) => sum + rows)).toBe(600);
    expect(Math.max(...advances)).toBeLessThanOrEqual(50);
    const { rows } = await database.client.query(
      `select (value ->> 'end')::int as pages from tenancy_migration_state
        where key = 'phase2.cursor.relations'`,
    );
    expect(rows[0].pages).toBeGreaterThan(1000);
    expect(advances.length).toBeLessThan(50);
  });

  it('estimates the rows of tables whether or not they were analysed', async () => {
    await database.client.query('analyze entities');
    const { bars } = await runPhase2();
    expect(bars.map(({ what, total }) => [what, total > 0])).toEqual([
      ['Fill entities', true],
      ['Fill relations', true],
      ['Fill refresh_state', true],
    ]);
    expect(bars[0].total).toBe(200);
  });

  it.each([
    ['undoes the change', 'new.tenant_id := null; return new;'],
    ['suppresses it', 'return null;'],
  ])('refuses where a trigger %s', async (_, body) => {
    await createTrigger(body);
    const failure = await runPhase2(5).catch(error => error);
    const { rows } = await database.client.query(
      `select entity_id from entities where entity_name = 'service-7'`,
    );
    expect(failure).toBeInstanceOf(VerificationError);
    expect(failure.message).toContain(
      `1 of the 200 rows of entities has no tenant, such as the one with entity_id = ${rows[0].entity_id}.`,
    );
    await expect(
      database.migrate(migration => migration.completedSteps()),
    ).resolves.not.toContain(backfill.name);
    await expect(rowsWithoutTenant(database)).resolves.toBe(1);

    await database.client.query('drop trigger stubborn on entities');
    await runPhase2();
    await expect(rowsWithoutTenant(database)).resolves.toBe(0);
  });

  it('ends, and refuses, where more rows than a batch has cannot be filled', async () => {
    await createTrigger('return null;', 'service-%');
    await expect(runPhase2(5)).rejects.toThrow(
      '200 of the 200 rows of entities have no tenant',
    );
  });

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
